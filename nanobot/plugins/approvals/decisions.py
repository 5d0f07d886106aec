"""The meaning of a yes or no: the call that it decides, and whether it counts.

A yes counts if the person sent it after the question was shown, and if the chat contains no other
question that it may answer. If content from outside may have caused the call, only a button or the
question's number approves it, so that a habitual yes does not approve the wish of a page.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loguru import logger

from nanobot.errors import NanobotError, StoreError, UsageError
from nanobot.messages import Address, InboundMessage, OutboundMessage, Role
from nanobot.operations.operation import Caller
from nanobot.plugins.approvals.port import Approvals
from nanobot.plugins.approvals.question import message as question_in
from nanobot.plugins.approvals.verdict import numbered, reaction, verdict
from nanobot.plugins.common.approvals import Approver, may_answer
from nanobot.ports import Clock
from nanobot.session.approvals import Approval
from nanobot.session.decisions import Call, Meant
from nanobot.session.entries import DecisionEntry, Entry, PostEntry, ReplyEntry, UserEntry
from nanobot.session.journal import Journal
from nanobot.session.keys import APPROVALS
from nanobot.session.outbox import OutboundRow
from nanobot.session.records import Records
from nanobot.session.said import Order, Said
from nanobot.text import pattern

_LOOKED_AT = 20
_PENDING = 10
_TURNS = 2
_ASKS = pattern("[?\uff1f]")
_WHOLE_SECONDS = 1.0
"""Some platforms say the second in which a message was sent, and no more."""


class ChatDecisions:
    """Reads messages as decisions on pending approvals and questions; see
    nanobot.session.decisions.Decisions. It has the OpenQuestions, too."""

    def __init__(
        self, approvals: Approvals, journal: Journal, records: Records, clock: Clock
    ) -> None:
        self._approvals = approvals
        self._journal = journal
        self._records = records
        self._clock = clock

    async def meant(self, said: Said, order: Order) -> Meant | None:
        """What the words decide; None if they are no yes or no, or one that answers nothing that
        was asked. Of several open calls in the conversation they show which there are. A question
        is answered by any words while its run waits, and by a yes or no right after."""
        text = said.message.text
        name, number = verdict(text), 0
        if not name and (found := numbered(text)) is not None:
            name, number = found
        if not name:
            return None
        still_open = await self._approvals.approvals(session="", state="open", limit=_LOOKED_AT)
        channel, sender = said.message.address.channel, said.message.sender.id
        person = Approver(role=said.role, channel=channel, id=sender)
        theirs = [each for each in still_open if may_answer(each, person)]
        if number:
            known = any(each.id == number and not each.question for each in theirs)
            return Meant(operation=name, argument=str(number)) if known else None
        return await self._plain(name, said, theirs, order)

    async def check(
        self, operation: str, arguments: Mapping[str, Any], message: InboundMessage, order: Order
    ) -> None:
        """Raises UsageError where the platform says that an approval was sent before its question
        was shown in that chat."""
        if operation != "approve" or message.pressed:
            return
        number: int = arguments["id"]
        approval = await self._approvals.approval(number)
        if approval is None or approval.question:
            return
        there = _here(approval, message)
        rows = [await self._journal.outbound(APPROVALS.of(number, to)) for to in there]
        if rows and all(_came_later(row, message, order) for row in rows):
            raise UsageError(
                f"You wrote this before you were shown #{number}. Look at it, then decide"
            )

    async def reacted(self, message: InboundMessage, role: Role, call: Call) -> None:
        """A clear yes or no to a call; a question is answered in words."""
        name, sender = reaction(message.text), message.sender
        if not (name and message.reply_to):
            return
        approval = await self._approvals.asked_by(message.address, message.reply_to)
        if approval is None or approval.question:
            return
        caller = Caller(
            role=role,
            session_key=approval.session_key,
            by=sender.id,
            name=sender.name,
            address=message.address,
        )
        try:
            await call(name, {"id": approval.id}, caller)
        except StoreError:
            raise
        except NanobotError as error:
            where = message.address
            logger.debug("{}: a reaction of {} decides nothing: {}", where, sender.id, error)

    def sign(self, emoji: str) -> str:
        return reaction(emoji)

    async def asking(self, channel: str, limit: int) -> list[tuple[Address, str]]:
        still_open = await self._approvals.approvals(session="", state="open", limit=limit)
        return [
            (address, APPROVALS.of(approval.id, address))
            for approval in still_open
            for address in approval.asked_in
            if address.channel == channel and not approval.question
        ]

    async def pending(self, session_key: str, to: Address) -> list[OutboundMessage]:
        waiting = await self._approvals.approvals(
            session=session_key, state="waiting", limit=_PENDING
        )
        return [question_in(approval, to) for approval in waiting]

    async def _plain(
        self, name: str, said: Said, theirs: list[Approval], order: Order
    ) -> Meant | None:
        candidates = await self._candidates(said, theirs)
        if len(candidates) > 1 and candidates[0].session_key == said.session_key:
            return Meant(operation="approvals list")
        if len(candidates) != 1 or not await self._was_shown(candidates[0], said.message, order):
            return None
        (approval,) = candidates
        number = str(approval.id)
        if approval.question:
            return Meant(operation="answer", argument=f"{number} {said.message.text}")
        if refusal := await self._refusal(name, approval, said):
            return Meant(refusal=refusal)
        return Meant(operation=name, argument=number)

    async def _candidates(self, said: Said, theirs: list[Approval]) -> list[Approval]:
        """What a yes may be about: what its conversation asked last, else what another one asked
        last in this chat."""
        here = [each for each in theirs if each.session_key == said.session_key]
        if any(each.question and each.state == "waiting" for each in here):
            return []  # it is the answer to that
        own = [each for each in here if await self._is_recent(each)]
        calls = [each for each in theirs if each.state == "waiting" and not each.question]
        return own or [each for each in calls if await self._asked_last(each, said)]

    async def _refusal(self, name: str, approval: Approval, said: Said) -> str:
        """Why no plain yes or no decides a call; empty if one does."""
        number = approval.id
        if await self._asks_more(approval, said):
            return (
                f"There is more than one question here. Write `yes {number}` or `no {number}` to "
                f"decide #{number}, or answer the other one in more words than yes or no."
            )
        if name == "approve" and approval.tainted:
            return (
                f"A plain yes does not approve #{number}, because this conversation has seen "
                f"content from outside. Press the button, or write `yes {number}`."
            )
        return ""

    async def _is_recent(self, approval: Approval) -> bool:
        """Whether a yes in its conversation can only be about this: its run waits for it, or went
        on without it a moment ago and nothing else was asked since."""
        if approval.state == "waiting":
            return not approval.question
        turns = 0
        for entry in reversed(await self._journal.history(approval.session_key)):
            body = entry.body
            if isinstance(body, DecisionEntry) and body.id == approval.id:
                return True
            turns += isinstance(body, UserEntry)
            if _asks(entry) or turns > _TURNS:
                return False
        return False

    async def _asked_last(self, approval: Approval, said: Said) -> bool:
        """Whether an approval of another conversation is the last thing said in this chat."""
        question = APPROVALS.of(approval.id, said.message.address)
        if await self._journal.outbound(question) is None:
            return False
        session = await self._journal.session(said.session_key)
        return session is None or session.updated_at <= approval.asked_at

    async def _was_shown(self, approval: Approval, message: InboundMessage, order: Order) -> bool:
        """Whether the question was there when this was written, where it was asked."""
        here = _here(approval, message)
        for address in here or approval.asked_in:
            row = await self._journal.outbound(APPROVALS.of(approval.id, address))
            if row is None or row.state != "sent" or row.settled_at is None:
                continue
            receipt = row.parts[-1].receipt if row.parts else None
            if here and receipt and message.reply_to == receipt:
                return True
            after = order(message, receipt, row.settled_at) if here and receipt else None
            if after is None:
                sent_at = message.sent_at or self._clock.now()
                after = sent_at + _WHOLE_SECONDS >= row.settled_at
            if after:
                return True
        return not approval.asked_in

    async def _asks_more(self, approval: Approval, said: Said) -> bool:
        """Whether the assistant asks something else in the chat, which a yes may answer as well."""
        elsewhere = approval.session_key != said.session_key
        for entry in reversed(await self._journal.history(said.session_key)):
            if _asks(entry):
                return True
            if isinstance(entry.body, UserEntry) and (
                elsewhere or entry.run_id == approval.run_id or approval.state != "waiting"
            ):
                return False
        return False


def _here(approval: Approval, message: InboundMessage) -> list[Address]:
    """Where in the message's chat the question is: its ids are of one order in all threads."""
    place = (message.address.channel, message.address.chat_id)
    return [to for to in approval.asked_in if (to.channel, to.chat_id) == place]


def _came_later(row: OutboundRow | None, message: InboundMessage, order: Order) -> bool:
    """Whether the platform says that the question came after the message. Of a question that may
    have been sent twice the first copy may have been read."""
    if row is None or row.maybe_duplicate or not row.parts or not row.parts[-1].receipt:
        return False
    return order(message, row.parts[-1].receipt, row.settled_at or 0.0) is False


def _asks(entry: Entry) -> bool:
    body = entry.body
    return isinstance(body, ReplyEntry | PostEntry) and _ASKS.search(body.text) is not None
