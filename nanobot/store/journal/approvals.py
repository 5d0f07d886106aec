"""Approvals: runs that wait for a person, as rows, and what ends their waiting."""

from __future__ import annotations

from typing import Any

import msgspec
import sqlalchemy as sa

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
from nanobot.session.runs import Lane, Run
from nanobot.session.states import RunState
from nanobot.store.database import schema
from nanobot.store.journal import admission, inbox, lanes, log, outbox, previews, runs
from nanobot.store.unit import StoreContext

_a = schema.approvals
_i = schema.inbound
_u = schema.approval_rules
_MOST_ASKED, _LOOKED_AT, _RECENT = 3, 100, 10_000

_NEXT_CHANNEL = sa.select(sa.func.min(_i.c.channel)).where(
    schema.INBOUND_OWNERS, _i.c.channel > sa.bindparam("c")
)
_OF_OWNERS = (
    sa.select(_i.c.id, _i.c.body)
    .where(schema.INBOUND_OWNERS, _i.c.channel == sa.bindparam("c"))
    .order_by(_i.c.id.desc())
    .limit(sa.bindparam("n"))
)


def park(
    connection: sa.Connection, writer: StoreContext, lane: Lane, run: Run, asked: Approval
) -> ParkResult:
    log.fence(connection, lane)
    rule = None if asked.question else _allowed_for_good(connection, asked)
    reached = _reached(connection, asked) if rule is None else ()
    if rule is not None:
        bodies = _entries(msgspec.structs.replace(asked, decided_by=f"rule {rule}"))
        return AllowedForGood(log.append(connection, writer, lane, run.id, bodies))
    if not reached:
        return NobodyReached()
    asked = msgspec.structs.replace(asked, asked_in=() if asked.direct else tuple(reached))
    row = {
        "session_key": asked.session_key,
        "run_id": asked.run_id,
        "state": asked.state,
        "body": msgspec.json.encode(asked),
    }
    identity = connection.scalar(sa.insert(_a).returning(_a.c.id), row)
    asked = msgspec.structs.replace(asked, id=identity)
    entries = log.append(connection, writer, lane, run.id, _entries(asked)[:1])
    runs.transition(connection, run, RunState.AWAITING_HUMAN, progress=True)
    runs.attempted(connection, run, -1)  # its next claim is no unclean end
    lanes.free(connection, lane)
    aside = previews.set_aside(connection, writer, run, identity)
    asking = [message(asked, to) for to in asked.asked_in]
    outbox.owe(connection, writer, asked.session_key, run.id, asking)
    more = inbox.any_waiting(connection, asked.session_key)
    owes = {*reached, run.address} if aside else reached
    return Parked(entries=entries, owes=tuple(owes), more=more)


def _entries(asked: Approval) -> list[Body]:
    return [
        ApprovalEntry(id=asked.id, call=asked.model_call, index=asked.index, digest=asked.digest),
        DecisionEntry(id=asked.id, verdict="approved", by=asked.decided_by),
    ]


def _allowed_for_good(connection: sa.Connection, asked: Approval) -> int | None:
    query = sa.select(_u.c.id).where(
        _u.c.session_key == asked.session_key,
        _u.c.tool == asked.tool,
        _u.c.subject == subject(asked),
        _u.c.tainted == asked.tainted,
    )
    found: int | None = connection.scalar(query)
    return found


def _reached(connection: sa.Connection, asked: Approval) -> list[Address]:
    """The chats to ask in: where the call was asked for, if somebody there may answer or is told
    who will; and where those who may have spoken alone with us."""
    if asked.here:
        return [asked.address]
    others = chats_of_approvers(connection, asked.approvers)
    if asked.address in others:
        return [asked.address]
    return [asked.address, *others] if others else []


def chats_of_approvers(connection: sa.Connection, approvers: tuple[str, ...] = ()) -> list[Address]:
    """Where owners, and those who are named, have spoken alone with us; the latest first."""
    chats: dict[tuple[str, str], Address] = {}
    for body in _spoken_by_approvers(connection, approvers):
        said = msgspec.json.decode(body, type=InboundMessage)
        if not said.group:
            chats.setdefault((said.address.channel, said.sender.id), said.address)
    return list(dict.fromkeys(chats.values()))[:_MOST_ASKED]


def _spoken_by_approvers(connection: sa.Connection, approvers: tuple[str, ...]) -> list[bytes]:
    """The last messages of owners, and of those who are named, the latest first."""
    rows: list[Any] = []
    channel = connection.scalar(_NEXT_CHANNEL, {"c": ""})
    while channel is not None:
        rows += connection.execute(_OF_OWNERS, {"c": channel, "n": _LOOKED_AT}).all()
        channel = connection.scalar(_NEXT_CHANNEL, {"c": channel})
    named = [name.partition(":")[2] for name in approvers]
    if named:
        last = connection.scalar(sa.select(sa.func.max(_i.c.id))) or 0
        recent = sa.and_(_i.c.id > last - _RECENT, _i.c.origin == Origin.USER)
        spoken = sa.select(_i.c.id, _i.c.body).where(recent, _i.c.sender_id.in_(named))
        rows += connection.execute(spoken.order_by(_i.c.id.desc()).limit(_LOOKED_AT)).all()
    return [body for _, body in sorted(rows, key=lambda row: -row[0])]


def _load(
    connection: sa.Connection, *where: sa.ColumnElement[bool] | sa.TextClause
) -> Approval | None:
    row = connection.execute(sa.select(_a.c.id, _a.c.state, _a.c.body).where(*where)).first()
    return None if row is None else as_approval(row)


def as_approval(row: Any) -> Approval:
    """A row (id, state, body) as people see it."""
    identity, state, body = row
    asked = msgspec.json.decode(body, type=Approval)
    return msgspec.structs.replace(asked, id=identity, state=state)


def _close(
    connection: sa.Connection,
    writer: StoreContext,
    asked: Approval,
    state: State,
    by: str,
    text: str = "",
) -> Approval:
    now = writer.clock.now()
    done = msgspec.structs.replace(asked, state=state, decided_at=now, decided_by=by, answer=text)
    values = {"state": state, "body": msgspec.json.encode(done)}
    connection.execute(sa.update(_a).where(_a.c.id == asked.id).values(values))
    if state not in OPEN:
        told = [message(done, address) for address in asked.asked_in]
        outbox.owe(connection, writer, asked.session_key, asked.run_id, told)
    return done


def waits(connection: sa.Connection, writer: StoreContext, run: Run) -> float:
    """Seconds for which a parked run has to wait yet, unless somebody answers."""
    news = _news(connection, writer, run)
    if news is None:  # a row was removed behind our back; an order to stop ends the run
        return 60.0
    if news[1] != "waiting":
        return 0.0
    held = inbox.hold(writer, inbox.one_turn(inbox.pending(connection, run.session_key)))
    left = news[0].expires_at - writer.clock.now()
    return min(left, held) if held else left


def _news(
    connection: sa.Connection, writer: StoreContext, run: Run
) -> tuple[Approval, State, inbox.Pending | None] | None:
    """What a parked run waits for, the state that it is in by now, and the message that says so."""
    asked = _load(connection, schema.APPROVAL_OPEN, _a.c.run_id == run.id, _a.c.state == "waiting")
    if asked is None:
        return None
    waiting = inbox.pending(connection, run.session_key)
    for one in waiting:
        said = one.message
        own = said.sender.id == run.sender_id and said.address == run.address
        if asked.question and own and said.origin is Origin.USER and not said.attachments:
            return (asked, "detached", None) if one.alone else (asked, "answered", one)
    if asked.expires_at <= writer.clock.now():
        return asked, "expired", None
    turn = inbox.one_turn(waiting)
    detached = turn and not asked.direct and not inbox.hold(writer, turn)
    return asked, "detached" if detached else "waiting", None


def go_on(connection: sa.Connection, writer: StoreContext, lane: Lane, run: Run) -> None:
    """The parked run is in somebody's hands again: with what ended its waiting in its log."""
    news = _news(connection, writer, run)
    if news is None:
        return
    asked, state, one = news
    if one is not None:
        inbox.take(connection, run.id, [one])
    text = "" if one is None else one.message.text
    by = run.sender_id if one is not None else ""
    _resume(connection, writer, lane, run, _close(connection, writer, asked, state, by, text))


def _resume(
    connection: sa.Connection, writer: StoreContext, lane: Lane, run: Run, done: Approval
) -> None:
    bodies: list[Body] = [DecisionEntry(id=done.id, verdict=done.state, by=done.decided_by)]
    if done.state != "approved":
        told = ToolResultEntry(
            call=done.model_call,
            index=done.index,
            name=done.tool,
            text=result(done),
            ok=done.state == "answered",
        )
        bodies.append(told)
    log.append(connection, writer, lane, run.id, bodies)
    if done.state == "detached":
        outbox.owe(connection, writer, done.session_key, run.id, [still_waits(done)])
    runs.transition(connection, run, RunState.TOOL_RUNNING)


def answer(
    connection: sa.Connection, writer: StoreContext, identity: int, given: ApprovalAnswer
) -> AnswerOutcome | None:
    key = connection.scalar(sa.select(_a.c.session_key).where(_a.c.id == identity))
    if key is None:
        return None
    lane = log.lane_of(connection, key)
    asked = _load(connection, _a.c.id == identity)
    if asked is None or asked.state not in OPEN:
        return None if asked is None else AnswerOutcome(asked, fresh=False)
    live, now = runs.live(connection, key), writer.clock.now()
    if asked.expires_at <= now:  # a parked run finds that out itself
        if asked.state == "detached":
            asked = _close(connection, writer, asked, "expired", "")
        return AnswerOutcome(msgspec.structs.replace(asked, state="expired"), fresh=False)
    done = _close(connection, writer, asked, given.state, given.by, given.text)
    if given.always:
        _allow_for_good(connection, done, now)
    if asked.state == "waiting" and live is not None:
        _resume(connection, writer, lane, live, done)
    elif given.state == "denied":
        note = DeniedEntry(text=f"#{done.id} ({done.tool}) was denied by {given.by}")
        log.append(connection, writer, lane, done.run_id, [note])
    else:
        admission.insert(connection, writer, _follow_up(done, now), waits=True, held=0.0)
    return AnswerOutcome(done, fresh=True)


def _allow_for_good(connection: sa.Connection, done: Approval, now: float) -> None:
    row = {
        "session_key": done.session_key,
        "tool": done.tool,
        "subject": subject(done),
        "tainted": done.tainted,
        "by": done.decided_by,
        "created_at": now,
    }
    connection.execute(sa.insert(_u), row)


def _follow_up(done: Approval, now: float) -> Admission:
    """The message by which a run that went on without an answer gets it in the end."""
    key = APPROVALS.of(done.id)
    text = f"(answering: {done.question})\n{done.answer}"
    if not done.question:
        text = f"#{done.id} was approved by {done.decided_by} and is executed now:"
    said = InboundMessage(
        address=done.address,
        message_id=key,
        dedupe_key=key,
        sender=Sender(done.sender_id, done.sender_name),
        text=text,
        sent_at=now,
        origin=Origin.USER if done.question else Origin.APPROVAL,
    )
    return Admission(message=said, session_key=done.session_key, role=done.role)


def approved_call(connection: sa.Connection, said: InboundMessage) -> list[Body]:
    """What such a message's run begins with: the call, as if the model had just asked for it."""
    asked = _load(connection, _a.c.id == int(APPROVALS.id_of(said.dedupe_key)))
    if asked is None:
        raise StoreCorrupt(f"the approval behind {said.dedupe_key} is missing")
    call = ToolCall(f"approved_{asked.id}", asked.tool, asked.arguments)
    first = msgspec.structs.replace(asked, model_call=0, index=0)
    reply = ReplyEntry(call=0, text="", tool_calls=(call,), finish_reason="tool_calls")
    return [reply, *_entries(first)]
