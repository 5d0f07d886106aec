"""The menus of commands that a platform shows: everybody's, and those of single persons."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from loguru import logger

from nanobot.boundary import boundary
from nanobot.errors import ChannelError
from nanobot.messages import InboundMessage
from nanobot.ports import Commanding, CommandingByChat, MenuCommand


class Menus:
    """The menus of one channel. A person's own can be set once they have written to the bot."""

    def __init__(
        self,
        name: str,
        channel: Commanding,
        commands: tuple[MenuCommand, ...],
        personal: Mapping[str, tuple[MenuCommand, ...]],
    ) -> None:
        self._name = name
        self._channel = channel
        self._commands = commands
        self._waiting = dict(personal) if isinstance(channel, CommandingByChat) else {}
        self._wrote: asyncio.Queue[str] = asyncio.Queue()

    def heard(self, message: InboundMessage) -> None:
        """A message is in the journal."""
        if message.sender.id in self._waiting and not message.group:
            self._wrote.put_nowait(message.sender.id)

    async def run(self) -> None:
        """Set everybody's, then each person's own, until cancelled."""
        with boundary(f"the commands of {self._name}"):
            try:
                await self._channel.register(self._commands)
            except ChannelError as error:
                logger.warning("{}: the menu of commands could not be set: {}", self._name, error)
        for person in list(self._waiting):
            await self._serve(person)
        while self._waiting:
            await self._serve(await self._wrote.get())

    async def _serve(self, person: str) -> None:
        commands, channel = self._waiting.get(person), self._channel
        if commands is None or not isinstance(channel, CommandingByChat):
            return
        with boundary(f"the commands of {person} on {self._name}"):
            try:
                await channel.register_in(person, commands)
            except ChannelError as error:  # they have never written to the bot, mostly
                logger.debug("{}: no menu for {} yet: {}", self._name, person, error)
            else:
                del self._waiting[person]
