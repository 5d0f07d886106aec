"""Reactions to open questions that were made while a channel was down."""

from __future__ import annotations

from collections.abc import Sequence

from loguru import logger

from nanobot.boundary import boundary
from nanobot.errors import ChannelError, DeliveryError, NotSent
from nanobot.messages import Address, InboundMessage
from nanobot.plugins.approvals.port import Approvals
from nanobot.plugins.approvals.verdict import reaction
from nanobot.ports import Clock
from nanobot.session.decisions import Admit, Reactions
from nanobot.session.journal import Journal
from nanobot.session.keys import APPROVALS

MOST_QUESTIONS = 50
"""Maximum number of open questions, the latest, whose messages are checked."""
LOOK_SECONDS = 1.0
"""Pause between two of them."""
_LONGEST_WAIT = 60.0


class MissedSigns:
    """Checks the open questions of one channel after another."""

    def __init__(self, approvals: Approvals, journal: Journal, clock: Clock) -> None:
        self._approvals = approvals
        self._journal = journal
        self._clock = clock

    async def look(self, channel: str, reactions: Reactions, admit: Admit) -> None:
        """See Decisions.look."""
        for address, message_id in await self._questions(channel):
            with boundary(f"missed reactions in {address}"):
                messages = await self._decisive(reactions, address, message_id)
                if messages:
                    await admit(messages)
            await self._clock.sleep(LOOK_SECONDS)

    async def _questions(self, channel: str) -> list[tuple[Address, str]]:
        """The chats with open questions, and the ids of these messages."""
        still_open = await self._approvals.approvals(session="", state="open", limit=MOST_QUESTIONS)
        places: list[tuple[Address, str]] = []
        for approval in still_open:
            for address in approval.asked_in:
                if address.channel != channel or approval.question:
                    continue
                with boundary(f"missed reactions to the approval {approval.id}"):
                    row = await self._journal.outbound(APPROVALS.of(approval.id, address))
                    parts = () if row is None else row.parts
                    places += [(address, part.receipt) for part in parts if part.receipt]
        return places[:MOST_QUESTIONS]

    async def _decisive(
        self, reactions: Reactions, address: Address, message_id: str
    ) -> Sequence[InboundMessage]:
        """A no before every yes, because their order is unknown."""
        try:
            messages = await reactions(address, message_id)
        except (ChannelError, DeliveryError) as error:
            logger.info(
                "{}: reactions to {} cannot be read: {}", address.channel, message_id, error
            )
            if isinstance(error, NotSent) and error.retry_after:
                await self._clock.sleep(min(error.retry_after, _LONGEST_WAIT))
            return ()
        decisive = [message for message in messages if reaction(message.text)]
        return sorted(decisive, key=lambda message: reaction(message.text) != "deny")
