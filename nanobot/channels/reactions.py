"""Reactions to people's messages that say what became of them."""

from __future__ import annotations

import asyncio

from loguru import logger

from nanobot.boundary import boundary
from nanobot.channels.activity import RunEnded
from nanobot.channels.moved_chats import MovedChats
from nanobot.errors import ChannelError
from nanobot.messages import Address, InboundMessage
from nanobot.ports import Reacting, Reaction
from nanobot.session.inbox import Admitted

_WAITING = 200
_SECONDS = 10.0


class Reactions:
    """The reactions of one channel, put one after another and never waited for: when there are too
    many to put, or the platform does not take them, messages go without."""

    def __init__(self, name: str, channel: Reacting, moved: MovedChats) -> None:
        self._name = name
        self._moved = moved
        self._channel = channel
        self._waiting: asyncio.Queue[tuple[Address, str, Reaction]] = asyncio.Queue(_WAITING)

    def received(self, message: InboundMessage, admitted: Admitted) -> None:
        """A message was let in. What was answered at once, or seen before, gets none."""
        if admitted.fresh and admitted.owes is None:
            self._put(message.address, message.message_id, Reaction.RECEIVED)

    def ended(self, ended: RunEnded) -> None:
        """The run of some messages is over."""
        for identity in ended.message_ids:
            self._put(
                ended.address, identity, Reaction.DONE if ended.completed else Reaction.FAILED
            )

    def _put(self, address: Address, message_id: str, reaction: Reaction) -> None:
        if not self._waiting.full():
            self._waiting.put_nowait((address, message_id, reaction))

    async def run(self) -> None:
        """Put what waits, until cancelled."""
        while True:
            address, message_id, reaction = await self._waiting.get()
            with boundary(f"a reaction in {address}"):
                try:
                    async with asyncio.timeout(_SECONDS):
                        await self._channel.react(self._moved.there(address), message_id, reaction)
                except (ChannelError, TimeoutError) as error:
                    logger.debug("{}: {} gets no reaction: {}", self._name, message_id, error)
