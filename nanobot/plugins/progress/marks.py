"""Marks: reactions to people's messages that show the state of the message."""

from __future__ import annotations

import asyncio

from loguru import logger

from nanobot.boundary import boundary
from nanobot.channels.companions import ChannelParts
from nanobot.errors import ChannelError
from nanobot.messages import Address, InboundMessage, Role
from nanobot.plugins.progress.activity import RunEnded, Showing
from nanobot.ports import Reacting, Reaction
from nanobot.session.inbox import Admitted

_WAITING = 200
_SECONDS = 10.0


class Marks(Showing):
    """The marks of one channel, set one after another. Nothing waits for them: if there are too
    many, or the platform refuses them, messages get none."""

    def __init__(self, channel: Reacting, parts: ChannelParts) -> None:
        self._name = parts.name
        self._moved = parts.moved
        self._channel = channel
        self._waiting: asyncio.Queue[tuple[Address, str, Reaction]] = asyncio.Queue(_WAITING)

    def admitted(
        self, message: InboundMessage, outcome: Admitted, role: Role, *, performing: bool
    ) -> None:
        """A message that was answered at once, seen before, or is a command in progress, gets no
        reaction."""
        if outcome.fresh and outcome.owes is None and not performing:
            self._put(message.address, message.message_id, Reaction.RECEIVED)

    def ended(self, ended: RunEnded) -> None:
        """The run of some messages has ended."""
        for identity in ended.message_ids:
            self._put(
                ended.address, identity, Reaction.DONE if ended.completed else Reaction.FAILED
            )

    def _put(self, address: Address, message_id: str, reaction: Reaction) -> None:
        if not self._waiting.full():
            self._waiting.put_nowait((address, message_id, reaction))

    async def run(self) -> None:
        """Set waiting reactions, until cancelled."""
        while True:
            address, message_id, reaction = await self._waiting.get()
            with boundary(f"a reaction in {address}"):
                try:
                    async with asyncio.timeout(_SECONDS):
                        await self._channel.react(self._moved.there(address), message_id, reaction)
                except (ChannelError, TimeoutError) as error:
                    logger.debug("{}: {} gets no reaction: {}", self._name, message_id, error)
