"""How runs wait for people and continue, in the transactions of the journal."""

from __future__ import annotations

import msgspec
import sqlalchemy as sa

from nanobot import labels
from nanobot.labels import NOTHING
from nanobot.messages import Address, InboundMessage, Origin
from nanobot.plugins.approvals.question import message, subject
from nanobot.plugins.approvals.store import waiting
from nanobot.plugins.approvals.store.deciding import close, resume
from nanobot.plugins.common.store import rule_tables
from nanobot.plugins.common.store.owners import chats_of_approvers
from nanobot.session import keys
from nanobot.session.approvals import (
    AllowedForGood,
    Approval,
    NobodyReached,
    Parked,
    ParkResult,
    State,
)
from nanobot.session.entries import Body, ObjectionEntry, ReplyEntry
from nanobot.session.runs import Lane, Run
from nanobot.session.states import RunState
from nanobot.store.database import message_tables as schema
from nanobot.store.database.connection import Connection
from nanobot.store.journal import inbox, lanes, log, outbox, runs
from nanobot.store.unit import Unit
from nanobot.visible import blank

_a = schema.approvals
_o = schema.outbound
_u = rule_tables.approval_rules


class SqlWaits:
    """See nanobot.store.unit.HumanWaits."""

    def park(self, unit: Unit, lane: Lane, run: Run, approval: Approval) -> ParkResult:
        ruled = not approval.question and not approval.unaccepted
        rule = _allowed_for_good(unit, approval) if ruled else None
        reached = _reached(unit, approval) if rule is None else ()
        if rule is not None:
            bodies = waiting.entries_of(
                msgspec.structs.replace(approval, decided_by=f"rule {rule}")
            )
            return AllowedForGood(log.append(unit, lane, run.id, bodies))
        if not reached:
            return NobodyReached()
        approval = msgspec.structs.replace(
            approval, asked_in=() if approval.direct else tuple(reached)
        )
        row = {
            "session_key": approval.session_key,
            "run_id": approval.run_id,
            "state": approval.state,
            "body": msgspec.json.encode(approval),
        }
        identity = unit.scalar(sa.insert(_a).returning(_a.c.id), row)
        approval = msgspec.structs.replace(approval, id=identity)
        entries = log.append(unit, lane, run.id, waiting.entries_of(approval)[:1])
        runs.transition(unit, run, RunState.AWAITING_HUMAN, progress=True)
        runs.attempted(unit, run, -1)  # its next claim is no unclean end
        lanes.free(unit, lane)
        aside = _set_aside(unit, run, identity)
        asking = [message(approval, to) for to in approval.asked_in]
        outbox.owe(unit, approval.session_key, run.id, asking)
        more = inbox.any_waiting(unit, approval.session_key)
        owes = {*reached, run.address} if aside else reached
        return Parked(entries=entries, owes=tuple(owes), more=more)

    def waits(self, unit: Unit, run: Run) -> float:
        """Seconds that a parked run still waits if no answer comes."""
        news = self._news(unit, run)
        if news is None:  # a row was removed from outside; an order to stop ends the run
            return 60.0
        if news[1] != "waiting":
            return 0.0
        held = inbox.hold(inbox.one_turn(inbox.pending(unit, run.session_key)), unit.now)
        left = news[0].expires_at - unit.now
        return min(left, held) if held else left

    def go_on(self, unit: Unit, lane: Lane, run: Run) -> None:
        """Resume a parked run, and log the answer that ended its wait."""
        news = self._news(unit, run)
        if news is None:
            return
        approval, state, pending = news
        if pending is not None:
            inbox.take(unit, run.id, [pending])
        text = "" if pending is None else pending.message.text
        by = run.sender_id if pending is not None else ""
        done = close(unit, approval, state, by, text)
        resume(unit, lane, run, done, NOTHING if pending is None else inbox.label_of(unit, pending))

    def approved(self, unit: Unit, message: InboundMessage) -> list[Body]:
        """The call of a late approval."""
        return waiting.approved_call(unit, message)

    def _news(self, unit: Unit, run: Run) -> tuple[Approval, State, inbox.Pending | None] | None:
        """The approval of a parked run, its current state, and the message that decided it."""
        approval = waiting.waited_for(unit, run)
        if approval is None:
            return None
        messages = inbox.pending(unit, run.session_key)
        for pending in messages:
            answer = pending.message
            if pending.at < approval.asked_at:  # it was sent before the question
                continue
            own = answer.sender.id == run.sender_id and answer.address == run.address
            words = answer.origin is Origin.USER and not answer.attachments
            if approval.question and own and words:
                if pending.alone:
                    return approval, "detached", None
                return approval, "answered", pending
        if approval.expires_at <= unit.now:
            return approval, "expired", None
        turn = inbox.one_turn(messages)
        detached = turn and not approval.direct and not inbox.hold(turn, unit.now)
        return approval, "detached" if detached else "waiting", None


def _set_aside(unit: Unit, run: Run, number: int) -> bool:
    """The run waits for a person (approval `number`): the text shown so far becomes a separate
    message, so that the answer follows the question, where people look. False: nothing is shown."""
    row = outbox.find(unit, run.reply_key)
    if row is None or row.state != "preview" or row.standing is None:
        return False
    key = keys.answer(run.id, number)
    unit.execute(sa.update(_o).where(_o.c.id == row.id).values(key=key))
    entries = log.read(unit, run.session_key, run.first_seq)
    own = [entry.body for entry in entries if entry.run_id == run.id]
    held = {body.call for body in own if isinstance(body, ObjectionEntry)}
    replies = (body for body in own if isinstance(body, ReplyEntry) and body.call not in held)
    texts = [reply.text for reply in replies if not blank(reply.text)]
    # Text that no recorded reply contains is from a discarded attempt, and is marked as such.
    text = texts[-1] if texts else f"{row.message.text}\n\n{outbox.STOPPED_LINE}"
    message = msgspec.structs.replace(row.message, text=text, key=key)
    outbox.owe(unit, run.session_key, run.id, [message])
    return True


def _allowed_for_good(connection: Connection, approval: Approval) -> int | None:
    """The rule that allows such a call. A rule holds for the kinds of speakers, and up to the
    privacy, that the conversation had when the rule was made."""
    query = sa.select(_u.c.id, _u.c.label).where(
        _u.c.session_key == approval.session_key,
        _u.c.tool == approval.tool,
        _u.c.subject == subject(approval),
        _u.c.tainted == approval.tainted,
    )
    now = labels.read(approval.label, tainted=approval.tainted)
    rows = connection.execute(query.order_by(_u.c.id))
    return next((row.id for row in rows if labels.read(row.label).serves(now)), None)


def _reached(unit: Unit, approval: Approval) -> list[Address]:
    """The chats to ask: the one of the call, if a person there may answer or is told who may; and
    private chats with people who may."""
    if approval.here:
        return [approval.address]
    others = chats_of_approvers(unit, approval.approvers)
    if approval.address in others:
        return [approval.address]
    return [approval.address, *others] if others else []
