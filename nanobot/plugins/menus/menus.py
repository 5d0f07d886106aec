"""A platform's command menus: the default, the one for groups, and those of single chats."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec
from loguru import logger

from nanobot.boundary import boundary
from nanobot.channels.companions import ChannelParts, Companion
from nanobot.channels.intake import ChannelIntake
from nanobot.errors import ChannelError
from nanobot.messages import InboundMessage, Role
from nanobot.operations.dispatcher import Dispatcher
from nanobot.operations.operation import Operation
from nanobot.ports import Commanding, CommandingByChat, MenuCommand
from nanobot.seam.installed import Interface, provided
from nanobot.session.inbox import Admitted
from nanobot.supervision import Work

MENU_TEXTS: Interface[Callable[[Operation], tuple[tuple[str, str], ...]]] = Interface("menu_texts")
"""The help of an operation behind each language that there is a translation into."""
_MOST_CHATS = 10_000


class MenuSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The menus' contents. `everybody`: the role of the default menu; `persons`: people whose role
    is in the configuration."""

    by_role: Mapping[Role, tuple[MenuCommand, ...]] = {}
    everybody: Role = Role.GUEST
    persons: Mapping[str, Role] = {}

    def own(self, role: Role) -> tuple[MenuCommand, ...]:
        """The menu of a chat with a person in that role; empty if it is the default."""
        commands = self.by_role.get(role, ())
        return () if commands == self.by_role.get(self.everybody, ()) else commands


class Menus(Companion):
    """The menus of one channel. A person's menu can be set after they have written to the bot; it
    is renewed when their role changes."""

    def __init__(self, name: str, channel: Commanding, settings: MenuSettings) -> None:
        self._name = name
        self._channel = channel
        self._by_chat = isinstance(channel, CommandingByChat)
        self._settings = settings
        self._roles: dict[str, Role] = {}
        self._wrote: asyncio.Queue[tuple[str, Role]] = asyncio.Queue()
        self._up = asyncio.Event()

    def receiving(self, intake: ChannelIntake) -> Mapping[str, Work]:
        return {"commands": self.run}

    def up(self) -> None:
        self._up.set()

    def admitted(
        self, message: InboundMessage, outcome: Admitted, role: Role, *, performing: bool
    ) -> None:
        chat = message.address.chat_id
        by_chat = self._by_chat and not message.group
        if by_chat and self._roles.get(chat) is not role:
            self._wrote.put_nowait((chat, role))

    async def run(self) -> None:
        """Set the default and group menus, then those of chats, until cancelled. They are set when
        the platform can be reached."""
        await self._up.wait()
        settings, channel = self._settings, self._channel
        await self._set("everybody", channel.register(settings.by_role[settings.everybody]))
        if not isinstance(channel, CommandingByChat):
            return
        members = settings.by_role.get(Role.MEMBER, ())
        await self._set("groups", channel.register_in_groups(members))
        for person, role in settings.persons.items():
            if settings.own(role):
                await self._serve(channel, person, role)
        while True:
            await self._serve(channel, *await self._wrote.get())

    async def _serve(self, channel: CommandingByChat, chat: str, role: Role) -> None:
        if self._roles.get(chat) is role:
            return
        self._roles.pop(chat, None)
        if await self._set(chat, channel.register_in(chat, self._settings.own(role))):
            self._roles[chat] = role
            while len(self._roles) > _MOST_CHATS:
                del self._roles[next(iter(self._roles))]

    async def _set(self, whose: str, setting: Awaitable[None]) -> bool:
        done = False
        with boundary(f"the menu of {whose} on {self._name}"):
            try:
                await setting
                done = True
            except ChannelError as error:  # of a chat: usually they have never written to the bot
                level = "DEBUG" if whose.lstrip("-").isdecimal() else "WARNING"
                logger.log(level, "{}: no menu for {}: {}", self._name, whose, error)
        return done


def companions(parts: ChannelParts, operations: Dispatcher) -> Sequence[Companion]:
    """See `Plugin.companions`."""
    channel, settings = parts.channel, parts.settings
    if not isinstance(channel, Commanding):
        return ()
    everybody = Role.MEMBER if settings.members else Role.OWNER
    if isinstance(channel, CommandingByChat) and not settings.members:
        everybody = Role.GUEST  # of those who are let in, and of strangers
    shown = MenuSettings(
        by_role={role: menu(operations, role) for role in Role},
        everybody=everybody,
        persons={
            **dict.fromkeys(settings.guests, Role.GUEST),
            **dict.fromkeys(settings.members, Role.MEMBER),
            **dict.fromkeys(settings.owners, Role.OWNER),
        },
    )
    return (Menus(parts.name, channel, shown),)


def menu(operations: Dispatcher, role: Role) -> tuple[MenuCommand, ...]:
    """The commands for a person with this role: first the one that explains the others."""
    texts = provided(MENU_TEXTS) or (lambda _: ())
    return tuple(
        MenuCommand(operation.name, operation.help, operation.usage, texts(operation))
        for operation in sorted(operations.listed, key=lambda each: each.name != "help")
        if operation.listed and operation.may(role) and " " not in operation.name
    )
