"""Approvals: runs that wait for a person, as rows, and how their wait ends."""

from __future__ import annotations

from typing import Any

import msgspec
import sqlalchemy as sa

from nanobot import labels
from nanobot.errors import StoreCorrupt
from nanobot.messages import Address, InboundMessage, Origin, Sender
from nanobot.providers.base import ToolCall
from nanobot.session.approvals import (
    OPEN,
    AllowedForGood,
    AnswerOutcome,
    Approval,
    ApprovalAnswer,
    NobodyReached,
    Parked,
    ParkResult,
    State,
    message,
    result,
    still_waits,
    subject,
)
from nanobot.session.entries import (
    ApprovalEntry,
    Body,
    DecisionEntry,
    DeniedEntry,
    ReplyEntry,
    ToolResultEntry,
)
from nanobot.session.inbox import Admission
from nanobot.session.keys import APPROVALS
from nanobot.session.labelling import of_result
from nanobot.session.runs import Lane, Run
from nanobot.session.states import RunState
from nanobot.store.database import message_tables as schema
from nanobot.store.journal import inbox, lanes, log, outbox, previews, runs
from nanobot.store.unit import StoreContext

_a = schema.approvals
_i = schema.inbound
_u = schema.approval_rules
_MOST_ASKED, _LOOKED_AT, _RECENT = 3, 100, 10_000

_UNLABELLED = {False: "om2", True: "omgpftx2:*"}
"""The scope of a rule, by `tainted`, if its question is from before labels. Same as in r0012."""
_NEXT_CHANNEL = sa.select(sa.func.min(_i.c.channel)).where(
    schema.INBOUND_OWNERS, _i.c.channel > sa.bindparam("c")
)
_SPOKEN = (
    sa.select(_i.c.id, _i.c.body)
    .where(schema.INBOUND_OWNERS, _i.c.channel == sa.bindparam("c"))
    .order_by(_i.c.id.desc())
    .limit(_LOOKED_AT)
)


def park(
    connection: sa.Connection, writer: StoreContext, lane: Lane, run: Run, approval: Approval
) -> ParkResult:
    log.fence(connection, lane)
    ruled = not approval.question and not approval.unaccepted
    rule = _allowed_for_good(connection, approval) if ruled else None
    reached = _reached(connection, writer, approval) if rule is None else ()
    if rule is not None:
        bodies = _entries(msgspec.structs.replace(approval, decided_by=f"rule {rule}"))
        return AllowedForGood(log.append(connection, writer, lane, run.id, bodies))
    if not reached:
        return NobodyReached()
    approval = msgspec.structs.replace(approval, asked_in=() if approval.direct else tuple(reached))
    row = {
        "session_key": approval.session_key,
        "run_id": approval.run_id,
        "state": approval.state,
        "body": msgspec.json.encode(approval),
    }
    identity = connection.scalar(sa.insert(_a).returning(_a.c.id), row)
    approval = msgspec.structs.replace(approval, id=identity)
    entries = log.append(connection, writer, lane, run.id, _entries(approval)[:1])
    runs.transition(connection, run, RunState.AWAITING_HUMAN, progress=True)
    runs.attempted(connection, run, -1)  # its next claim is no unclean end
    lanes.free(connection, lane)
    aside = previews.set_aside(connection, writer, run, identity)
    asking = [message(approval, to) for to in approval.asked_in]
    outbox.owe(connection, writer, approval.session_key, run.id, asking)
    more = inbox.any_waiting(connection, approval.session_key)
    owes = {*reached, run.address} if aside else reached
    return Parked(entries=entries, owes=tuple(owes), more=more)


def _entries(approval: Approval) -> list[Body]:
    return [
        ApprovalEntry(
            id=approval.id,
            call=approval.model_call,
            index=approval.index,
            digest=approval.digest,
            version=approval.version,
            rule=approval.rule,
        ),
        DecisionEntry(id=approval.id, verdict="approved", by=approval.decided_by),
    ]


def _allowed_for_good(connection: sa.Connection, approval: Approval) -> int | None:
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


def _reached(connection: sa.Connection, writer: StoreContext, approval: Approval) -> list[Address]:
    """The chats to ask: the one of the call, if a person there may answer or is told who may; and
    private chats with people who may."""
    if approval.here:
        return [approval.address]
    others = chats_of_approvers(connection, writer, approval.approvers)
    if approval.address in others:
        return [approval.address]
    return [approval.address, *others] if others else []


def chats_of_approvers(
    connection: sa.Connection, writer: StoreContext, approvers: tuple[str, ...] = ()
) -> list[Address]:
    """Private chats with owners and with the people named; the latest first."""
    chats: dict[tuple[str, str], Address] = {}
    for body in _spoken_by_approvers(connection, writer, approvers):
        spoken = msgspec.json.decode(body, type=InboundMessage)
        if not spoken.group:
            chats.setdefault((spoken.address.channel, spoken.sender.id), spoken.address)
    return list(dict.fromkeys(chats.values()))[:_MOST_ASKED]


def _spoken_by_approvers(
    connection: sa.Connection, writer: StoreContext, approvers: tuple[str, ...]
) -> list[bytes]:
    """The last messages of owners and of the people named, the latest first."""
    rows: list[Any] = []
    channel = connection.scalar(_NEXT_CHANNEL, {"c": ""})
    while channel is not None:
        are_owners = writer.owners(channel)
        spoken = _SPOKEN if are_owners is None else _SPOKEN.where(are_owners)
        rows += connection.execute(spoken, {"c": channel}).all()
        channel = connection.scalar(_NEXT_CHANNEL, {"c": channel})
    keys = [name.partition(":")[::2] for name in approvers]
    if keys:
        last = connection.scalar(sa.select(sa.func.max(_i.c.id))) or 0
        recent = sa.and_(_i.c.id > last - _RECENT, _i.c.origin == Origin.USER)
        named = sa.tuple_(_i.c.channel, _i.c.sender_id).in_(keys)
        theirs = sa.select(_i.c.id, _i.c.body).where(recent, named)
        rows += connection.execute(theirs.order_by(_i.c.id.desc()).limit(_LOOKED_AT)).all()
    return [body for _, body in sorted(rows, key=lambda row: -row[0])]


def _load(
    connection: sa.Connection, *where: sa.ColumnElement[bool] | sa.TextClause
) -> Approval | None:
    row = connection.execute(sa.select(_a.c.id, _a.c.state, _a.c.body).where(*where)).first()
    return None if row is None else as_approval(row)


def as_approval(row: Any) -> Approval:
    """Convert a row (id, state, body)."""
    identity, state, body = row
    approval = msgspec.json.decode(body, type=Approval)
    return msgspec.structs.replace(approval, id=identity, state=state)


def _close(
    connection: sa.Connection,
    writer: StoreContext,
    approval: Approval,
    state: State,
    by: str,
    text: str = "",
) -> Approval:
    now = writer.clock.now()
    done = msgspec.structs.replace(
        approval, state=state, decided_at=now, decided_by=by, answer=text
    )
    values = {"state": state, "body": msgspec.json.encode(done)}
    connection.execute(sa.update(_a).where(_a.c.id == approval.id).values(values))
    if state not in OPEN:
        notices = [message(done, address) for address in approval.asked_in]
        outbox.owe(connection, writer, approval.session_key, approval.run_id, notices)
    return done


def waits(connection: sa.Connection, writer: StoreContext, run: Run) -> float:
    """Seconds that a parked run still waits if no answer comes."""
    news = _news(connection, writer, run)
    if news is None:  # a row was removed from outside; an order to stop ends the run
        return 60.0
    if news[1] != "waiting":
        return 0.0
    held = inbox.hold(writer, inbox.one_turn(inbox.pending(connection, run.session_key)))
    left = news[0].expires_at - writer.clock.now()
    return min(left, held) if held else left


def _news(
    connection: sa.Connection, writer: StoreContext, run: Run
) -> tuple[Approval, State, inbox.Pending | None] | None:
    """The approval of a parked run, its current state, and the message that decided it."""
    approval = _load(
        connection, schema.APPROVAL_OPEN, _a.c.run_id == run.id, _a.c.state == "waiting"
    )
    if approval is None:
        return None
    waiting = inbox.pending(connection, run.session_key)
    for pending in waiting:
        answer = pending.message
        if pending.at < approval.asked_at:  # it was sent before the question
            continue
        own = answer.sender.id == run.sender_id and answer.address == run.address
        if approval.question and own and answer.origin is Origin.USER and not answer.attachments:
            return (
                (approval, "detached", None) if pending.alone else (approval, "answered", pending)
            )
    if approval.expires_at <= writer.clock.now():
        return approval, "expired", None
    turn = inbox.one_turn(waiting)
    detached = turn and not approval.direct and not inbox.hold(writer, turn)
    return approval, "detached" if detached else "waiting", None


def go_on(connection: sa.Connection, writer: StoreContext, lane: Lane, run: Run) -> None:
    """Resume a parked run, and log the answer that ended its wait."""
    news = _news(connection, writer, run)
    if news is None:
        return
    approval, state, pending = news
    if pending is not None:
        inbox.take(connection, run.id, [pending])
    text = "" if pending is None else pending.message.text
    by = run.sender_id if pending is not None else ""
    _resume(connection, writer, lane, run, _close(connection, writer, approval, state, by, text))


def _resume(
    connection: sa.Connection, writer: StoreContext, lane: Lane, run: Run, done: Approval
) -> None:
    bodies: list[Body] = [DecisionEntry(id=done.id, verdict=done.state, by=done.decided_by)]
    if done.state != "approved":
        outcome = ToolResultEntry(
            call=done.model_call,
            index=done.index,
            name=done.tool,
            text=result(done),
            ok=done.state == "answered",
        )
        bodies.append(outcome)
    log.append(connection, writer, lane, run.id, bodies)
    if done.state == "detached":
        outbox.owe(connection, writer, done.session_key, run.id, [still_waits(done)])
    runs.transition(connection, run, RunState.TOOL_RUNNING)


def answer(
    connection: sa.Connection, writer: StoreContext, identity: int, answer: ApprovalAnswer
) -> AnswerOutcome | None:
    key = connection.scalar(sa.select(_a.c.session_key).where(_a.c.id == identity))
    if key is None:
        return None
    lane = log.lane_of(connection, key)
    approval = _load(connection, _a.c.id == identity)
    if approval is None or approval.state not in OPEN:
        return None if approval is None else AnswerOutcome(approval, fresh=False)
    live, now = runs.live(connection, key), writer.clock.now()
    if approval.expires_at <= now:  # a parked run finds that out itself
        if approval.state == "detached":
            approval = _close(connection, writer, approval, "expired", "")
        return AnswerOutcome(msgspec.structs.replace(approval, state="expired"), fresh=False)
    done = _close(connection, writer, approval, answer.state, answer.by, answer.text)
    if answer.always:
        _allow_for_good(connection, done, now)
    if approval.state == "waiting" and live is not None:
        _resume(connection, writer, lane, live, done)
    elif answer.state == "denied":
        note = DeniedEntry(text=f"#{done.id} ({done.tool}) was denied by {answer.by}")
        log.append(connection, writer, lane, done.run_id, [note])
    else:
        inbox.insert(connection, writer, _follow_up(done, now), waits=True, held=0.0)
    return AnswerOutcome(done, fresh=True)


def _allow_for_good(connection: sa.Connection, done: Approval, now: float) -> None:
    asked = labels.read(done.label or _UNLABELLED[done.tainted])
    row = {
        "session_key": done.session_key,
        "tool": done.tool,
        "subject": subject(done),
        "tainted": done.tainted,
        "by": done.decided_by,
        "created_at": now,
        "label": asked.join(of_result(done.tool, tainted=done.tainted)).encoded(),
    }
    connection.execute(sa.insert(_u), row)


def _follow_up(done: Approval, now: float) -> Admission:
    """The message that brings a late answer to a run that continued without it."""
    key = APPROVALS.of(done.id)
    text = f"(answering: {done.question})\n{done.answer}"
    if not done.question:
        text = f"#{done.id} was approved by {done.decided_by} and is executed now:"
    question = InboundMessage(
        address=done.address,
        message_id=key,
        dedupe_key=key,
        sender=Sender(done.sender_id, done.sender_name),
        text=text,
        sent_at=now,
        origin=Origin.USER if done.question else Origin.APPROVAL,
    )
    return Admission(message=question, session_key=done.session_key, role=done.role)


def approved_call(connection: sa.Connection, answer: InboundMessage) -> list[Body]:
    """The run for such a message begins with the call, as if the model had just made it."""
    approval = _load(connection, _a.c.id == int(APPROVALS.id_of(answer.dedupe_key)))
    if approval is None:
        raise StoreCorrupt(f"the approval behind {answer.dedupe_key} is missing")
    call = ToolCall(f"approved_{approval.id}", approval.tool, approval.arguments)
    first = msgspec.structs.replace(approval, model_call=0, index=0)
    reply = ReplyEntry(call=0, text="", tool_calls=(call,), finish_reason="tool_calls")
    return [reply, *_entries(first)]
