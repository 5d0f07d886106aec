"""Connects a channel for an owner of a running gateway, and meets the first person who writes to
it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from weakref import WeakKeyDictionary

from nanobot.config.loader import ChannelSettings, Config, load
from nanobot.errors import NanobotError, UsageError
from nanobot.messages import Address
from nanobot.operations.operation import OperationContext
from nanobot.plugins.common.keys.home_settings import HomeSettings
from nanobot.plugins.common.keys.setting_changes import SettingChanges
from nanobot.plugins.setup.channel_table import with_channel
from nanobot.plugins.setup.new_channel import NewChannel, channel_of
from nanobot.plugins.setup.probes import first_message, tell, try_channel
from nanobot.plugins.setup.strangers import can_ask
from nanobot.plugins.setup.views import ConnectedChannel, MetPerson
from nanobot.plugins.setup.writing import write
from nanobot.seam.offers import Environment
from nanobot.supervision import to_its_end

_MEET_SECONDS = 60.0
_GREETING = (
    "Hello! I am set up, and I take orders from you.\n"
    "As soon as I have started again I answer here: /start shows what I can do."
)


class _LatestOnly:
    """Only the latest caller waits: if two read a bot's updates, each gets only a part."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._latest: asyncio.Timeout | None = None

    @asynccontextmanager
    async def waiting(self) -> AsyncIterator[None]:
        """Begins when the earlier caller is gone. Raises TimeoutError when another comes."""
        async with asyncio.timeout(None) as patience:
            if self._latest is not None:
                self._latest.reschedule(0)
            self._latest = patience
            try:
                async with self._turn:
                    yield
            finally:
                if self._latest is patience:
                    self._latest = None


_MEETINGS: WeakKeyDictionary[HomeSettings, _LatestOnly] = WeakKeyDictionary()
"""Who waits for a person, of each gateway in this process."""


async def connect(
    context: OperationContext,
    channel: str,
    name: str,
    settings: Sequence[str],
    owners: Sequence[str],
    chat: str | None,
) -> ConnectedChannel:
    """Try a channel of that type (or a table that is there) with these KEY=VALUE, and keep it if
    its platform accepts it. `chat`: greet its owner there ("": where an id says where)."""
    environ = context.of(Environment)
    config, new = await _new_channel(environ, channel, name, settings)
    new.own(owners)
    filled = new.settings(config, environ)
    checked = await try_channel(new.name, filled, config)
    changes = SettingChanges(secrets=new.secrets, more=lambda text: with_channel(text, new))
    async with context.of(HomeSettings).changing:
        file = await to_its_end(partial(write, environ, changes))
    if chat:
        new.owner_chat = Address(new.name, chat)
    greeted, refused = (False, "") if chat is None else await _greeted(new, filled)
    return ConnectedChannel(
        name=new.name,
        who=checked.who if checked else new.name,
        lacking=(checked.lacking or checked.todo) if checked else "",
        file=str(file),
        owned=bool(filled.owners),
        greeted=greeted,
        refused=refused,
    )


async def meet(
    context: OperationContext,
    channel: str,
    name: str,
    settings: Sequence[str],
    others: Sequence[str],
) -> MetPerson:
    """Wait until a person who is not in `others` writes to this channel, which is not saved. A
    gateway that serves the channel later still receives the message."""
    environ = context.of(Environment)
    config, new = await _new_channel(environ, channel, name, settings)
    if new.name in context.of(Config).channels:
        told = (
            "a person who writes to it gets a pairing code"
            if can_ask(config)
            else f"put your id into channels.{new.name}.owners"
        )
        raise UsageError(f"{new.name} is already connected: {told}.")
    if not new.setup.knock:
        raise UsageError(f"{new.setup.title} cannot wait for a message: enter {new.setup.person}.")
    filled = new.settings(config, environ)
    senders = {*filled.owners, *others}
    meetings = _MEETINGS.setdefault(context.of(HomeSettings), _LatestOnly())
    try:
        async with meetings.waiting():
            message = await first_message(new.name, filled, _MEET_SECONDS, senders)
    except TimeoutError:
        raise UsageError("It was asked for again, so this one waits no longer.") from None
    if message is None:
        raise UsageError("Nobody wrote.")
    sender = message.sender
    return MetPerson(id=sender.id, name=sender.name, chat=message.address.chat_id)


async def _new_channel(
    environ: Environment, channel: str, name: str, settings: Sequence[str]
) -> tuple[Config, NewChannel]:
    """A new channel with everything it needs. Raises UsageError."""
    config = await asyncio.to_thread(load, environ)
    new = await asyncio.to_thread(channel_of, channel, name, tuple(settings), config)
    new.complete(environ)
    return config, new


async def _greeted(new: NewChannel, settings: ChannelSettings) -> tuple[bool, str]:
    """Whether its owner was told that it is set up, and the error if an attempt failed."""
    address = new.chat_to_greet()
    if address is None:
        return False, ""
    try:
        await tell(new.name, settings, address, _GREETING)
    except NanobotError as error:
        return False, str(error)
    return True, ""
