"""Looks up reactions to open questions that were made while the channel was down."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from loguru import logger

from nanobot.boundary import boundary
from nanobot.channels.companions import ChannelParts, Companion
from nanobot.channels.intake import ChannelIntake
from nanobot.channels.moved_chats import MovedChats
from nanobot.errors import ChannelError, DeliveryError, NotSent
from nanobot.messages import Address, InboundMessage
from nanobot.plugins.common.approvals import OpenQuestions
from nanobot.ports import Clock, Recalling
from nanobot.session.journal import Journal
from nanobot.supervision import Work

MOST_QUESTIONS = 50
"""Maximum number of open questions, the latest, whose messages are checked."""
LOOK_SECONDS = 1.0
"""Pause between two of them."""
AGAIN_SECONDS = 60.0
"""Even if a connection breaks repeatedly, checks are at least this far apart."""
_LONGEST_WAIT = 60.0


class MissedReactions(Companion):
    """Checks one channel's open questions each time it comes up. The reactions found are handled
    like new ones: those of people who may not decide have no effect."""

    def __init__(
        self,
        name: str,
        channel: Recalling,
        journal: Journal,
        moved: MovedChats,
        clock: Clock,
        questions: OpenQuestions,
    ) -> None:
        self._name = name
        self._channel = channel
        self._journal = journal
        self._moved = moved
        self._clock = clock
        self._questions = questions
        self._up = asyncio.Event()

    def up(self) -> None:
        self._up.set()

    def receiving(self, intake: ChannelIntake) -> Mapping[str, Work]:
        return {"missed reactions": partial(self.run, intake)}

    async def run(self, intake: ChannelIntake) -> None:
        """Check until cancelled."""
        while True:
            await self._up.wait()
            self._up.clear()
            with boundary(f"missed reactions of {self._name}"):
                await self._look(intake)
            await self._clock.sleep(AGAIN_SECONDS)

    async def _look(self, intake: ChannelIntake) -> None:
        for address, message_id in await self._places():
            with boundary(f"missed reactions in {address}"):
                there = self._moved.there(address)
                messages = await self._reactions(there, message_id, self._questions.sign)
                if messages:
                    await intake.admit(messages)
            await self._clock.sleep(LOOK_SECONDS)

    async def _places(self) -> list[tuple[Address, str]]:
        """The chats with open questions, and the ids of these messages."""
        places: list[tuple[Address, str]] = []
        for address, key in await self._questions.asking(self._name, MOST_QUESTIONS):
            with boundary(f"missed reactions to the message {key}"):
                row = await self._journal.outbound(key)
                parts = () if row is None else row.parts
                places += [(address, part.receipt) for part in parts if part.receipt]
        return places[:MOST_QUESTIONS]

    async def _reactions(
        self, there: Address, message_id: str, sign: Callable[[str], str]
    ) -> Sequence[InboundMessage]:
        """A no before every yes, because their order is unknown."""
        try:
            messages = await self._channel.reactions(there, message_id)
        except (ChannelError, DeliveryError) as error:
            logger.info("{}: reactions to {} cannot be read: {}", self._name, message_id, error)
            if isinstance(error, NotSent) and error.retry_after:
                await self._clock.sleep(min(error.retry_after, _LONGEST_WAIT))
            return ()
        decisive = [message for message in messages if sign(message.text)]
        return sorted(decisive, key=lambda message: sign(message.text) != "deny")


def companions(
    parts: ChannelParts, journal: Journal, clock: Clock, questions: OpenQuestions | None = None
) -> Sequence[Companion]:
    """See `Plugin.companions`. Without `questions`, nobody is asked."""
    channel = parts.channel
    if questions is None or not isinstance(channel, Recalling):
        return ()
    return (MissedReactions(parts.name, channel, journal, parts.moved, clock, questions),)
