"""Looks up reactions to open questions that were made while the channel was down."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from nanobot.boundary import boundary
from nanobot.channels.intake import ChannelIntake
from nanobot.channels.moved_chats import MovedChats
from nanobot.messages import Address, InboundMessage
from nanobot.ports import Clock, Recalling

AGAIN_SECONDS = 60.0
"""Even if a connection breaks repeatedly, checks are at least this far apart."""


class MissedReactions:
    """Has one channel's open questions checked each time it comes up. The reactions found are
    handled like new ones: those of people who may not decide have no effect."""

    def __init__(
        self, name: str, channel: Recalling, intake: ChannelIntake, moved: MovedChats, clock: Clock
    ) -> None:
        self._name = name
        self._channel = channel
        self._intake = intake
        self._moved = moved
        self._clock = clock
        self._up = asyncio.Event()

    def up(self) -> None:
        """The platform responds, perhaps after an interruption."""
        self._up.set()

    async def run(self) -> None:
        """Check until cancelled."""
        decisions = self._intake.reception.decisions
        while True:
            await self._up.wait()
            self._up.clear()
            with boundary(f"missed reactions of {self._name}"):
                if decisions is not None:
                    await decisions.look(self._name, self._reactions, self._intake.admit)
            await self._clock.sleep(AGAIN_SECONDS)

    async def _reactions(self, chat: Address, message_id: str) -> Sequence[InboundMessage]:
        return await self._channel.reactions(self._moved.there(chat), message_id)
