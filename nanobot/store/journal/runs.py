"""Claimed runs: their transitions between states, and their ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import sqlalchemy as sa
from msgspec.structs import replace

from nanobot.errors import Fenced
from nanobot.messages import TERMINAL, Address, OutboundMessage
from nanobot.ports import OutboundPart
from nanobot.session.entries import Body, CancelEntry, Entry, ModelCallEntry, PromptEntry
from nanobot.session.inbox import Admission
from nanobot.session.journal import Effects
from nanobot.session.runs import Ending, Finished, Lane, PromptSnapshot, Run, SessionRow
from nanobot.session.states import PREDECESSORS, RunKind, RunState
from nanobot.session.usage import run_usage
from nanobot.store.database import message_tables as schema
from nanobot.store.database.connection import Connection
from nanobot.store.database.dialect import insert_ignore, nothing_follows
from nanobot.store.database.prepared import Prepared
from nanobot.store.database.results import as_struct
from nanobot.store.journal import inbox, lanes, log, outbox
from nanobot.store.journal.sending import Sending
from nanobot.store.unit import Unit
from nanobot.text import quoted

_a = schema.approvals
_s = schema.sessions
_r = schema.runs
_i = schema.inbound

_COLUMNS = {*Run.__struct_fields__, *Address.__struct_fields__} - {"address"}
PENDING = sa.and_(schema.INBOUND_OPEN, _i.c.state == "pending")

_THIS = _r.c.id == sa.bindparam("i")
_INSERT = Prepared(sa.insert(_r))
WAITING = Prepared(sa.select(sa.func.count()).where(_i.c.session_key == sa.bindparam("k"), PENDING))
LIVE = Prepared(sa.select(_r).where(_r.c.session_key == sa.bindparam("k"), schema.RUN_LIVE))
_PROMPT = Prepared(
    sa.update(_s)
    .where(schema.THIS_SESSION)
    .values(
        prompt=sa.bindparam("p"), prompt_variant=sa.bindparam("f"), window_from=sa.bindparam("w")
    )
)
_NEW_WINDOW = Prepared(
    sa.update(_s)
    .where(schema.THIS_SESSION)
    .values(prompt=None, prompt_variant=None, window_from=_s.c.head_seq + 1)
)
_ATTEMPTS = Prepared(sa.update(_r).where(_THIS).values(attempts=_r.c.attempts + sa.bindparam("n")))


def _moves(**values: Any) -> dict[RunState, Prepared]:
    """By state, what moves a run there from the states before it, and sets these values."""
    moves = {}
    for state, before in PREDECESSORS.items():
        if before:
            there = sa.text("runs.state IN ({})".format(", ".join(f"'{name}'" for name in before)))
            move = sa.update(_r).where(_THIS, there).values(state=str(state), **values)
            moves[state] = Prepared(move)
    return moves


_AHEAD: dict[str, Any] = {"progress": _r.c.progress + 1, "attempts": 1}
_MOVES, _PROGRESS = _moves(), _moves(**_AHEAD)
_ENDS = _moves(error=sa.bindparam("e"), ended_at=sa.bindparam("now"), usage=sa.bindparam("u"))
_PROGRESSED = Prepared(sa.update(_r).where(_THIS, schema.RUN_LIVE).values(**_AHEAD))


def move_window(connection: Connection, key: str, window_from: int) -> None:
    """Move the start of the window, and renew the prompt."""
    _PROMPT.execute(connection, k=key, p=None, f=None, w=window_from)


def transition(
    connection: Connection, run: Run, state: RunState, *, progress: bool = False
) -> None:
    """Compare-and-set the run's state by the table of transitions; raises Fenced if it does not
    match."""
    refusal = Fenced(f"run {run.id} cannot become {state}: it has ended or moved on")
    (_PROGRESS if progress else _MOVES)[state].change_one(connection, refusal, i=run.id)


def live(connection: Connection, key: str) -> Run | None:
    """The live run of the session."""
    row = LIVE.execute(connection, k=key).first()
    return None if row is None else as_run(row)


def attempted(connection: Connection, run: Run, count: int) -> None:
    """Add `count` to the run's attempts."""
    _ATTEMPTS.execute(connection, i=run.id, n=count)


def is_known(connection: Connection, run_id: str) -> bool:
    """Whether there is, or was, a run with that id."""
    return connection.execute(sa.select(_r.c.id).where(_r.c.id == run_id)).first() is not None


def as_run(row: Any) -> Run:
    """Convert a row."""
    r = row._mapping  # noqa: SLF001 - SQLAlchemy's public name for it
    columns = {name: r[name] for name in _COLUMNS}
    return msgspec.convert({**columns, "address": columns}, Run)


def insert(connection: Connection, run: Run, parent: str | None) -> None:
    """Create the run, started by the run `parent`."""
    columns = msgspec.structs.asdict(run)
    columns |= msgspec.structs.asdict(columns.pop("address"))
    _INSERT.execute(connection, {**columns, "parent": parent, "progress": 0})


def start_model(
    unit: Unit, lane: Lane, run: Run, bodies: Sequence[Body], prompt: PromptSnapshot | None
) -> tuple[Entry, ...]:
    call = bodies[-1]
    locked = log.HEAD.execute(unit, k=lane.session_key)
    if isinstance(call, ModelCallEntry):
        unit.writer.ledger.settle(unit, run, bodies)
        call = unit.writer.ledger.reserve(unit, run, call)
    head = unit.writer.held.head(lane) or log.fence(unit, lane, locked)
    entries = log.append(unit, lane, run.id, [*bodies[:-1], call], head)
    progress = not isinstance(bodies[0], PromptEntry | ModelCallEntry)
    transition(unit, run, RunState.MODEL_RUNNING, progress=progress)
    for body in bodies:
        if isinstance(body, PromptEntry) and isinstance(call, ModelCallEntry):
            now = {"p": body.digest, "f": body.prompt_variant, "w": call.window_from}
            _PROMPT.execute(unit, {"k": lane.session_key, **now})
            use = {"session_key": lane.session_key, "digest": body.digest}
            insert_ignore(unit, schema.prompt_uses, use)
            if prompt is not None:
                row = {"digest": body.digest, "body": msgspec.json.encode(prompt)}
                insert_ignore(unit, schema.prompts, row)
    return entries


def record_reply(unit: Unit, lane: Lane, run: Run, *bodies: Body) -> tuple[Entry, ...]:
    entries = _record(unit, lane, run, bodies)
    transition(unit, run, RunState.TOOL_RUNNING, progress=True)
    return entries


def start_tool(unit: Unit, lane: Lane, run: Run, body: Body) -> tuple[Entry, ...]:
    return _record(unit, lane, run, (body,))


def record_result(
    unit: Unit, lane: Lane, run: Run, bodies: Sequence[Body], effects: Effects = ()
) -> tuple[Entry, ...]:
    entries = _record(unit, lane, run, bodies)
    progressed(unit, run)
    for effect in effects:
        if not isinstance(effect, OutboundMessage):
            effect.write(unit)
        elif effect.address == run.address:
            outbox.owe(unit, lane.session_key, run.id, [effect])
        else:
            outbox.post(unit, str(effect.address), effect)
    return entries


def _record(unit: Unit, lane: Lane, run: Run, bodies: Sequence[Body]) -> tuple[Entry, ...]:
    entries = log.append(unit, lane, run.id, bodies)
    unit.writer.ledger.settle(unit, run, bodies)
    return entries


def finish(unit: Unit, lane: Lane, run: Run, ending: Ending) -> bool:
    return _finished(unit, lane, run, ending).more


def finish_sending(
    unit: Unit, lane: Lane, run: Run, ending: Ending, parts: Sequence[OutboundPart]
) -> Finished:
    (message,) = ending.outbound
    sending = Sending(unit, run, message, parts)
    return _finished(unit, lane, run, ending, sending)


def _finished(
    unit: Unit, lane: Lane, run: Run, ending: Ending, sending: Sending | None = None
) -> Finished:
    _end(unit, lane, run, ending, sending)
    lanes.free(unit, lane)
    nothing_follows(unit)
    more = inbox.any_waiting(unit, lane.session_key)
    return Finished(more, None if sending is None else sending.row())


def _end(unit: Unit, lane: Lane, run: Run, ending: Ending, sending: Sending | None = None) -> None:
    locked = log.HEAD.execute(unit, k=lane.session_key)
    calls = unit.writer.ledger.open_calls(unit, run)
    head = unit.writer.held.head(lane) or log.fence(unit, lane, locked)
    log.append(unit, lane, run.id, ending.bodies, head)
    _ENDS[ending.state].change_one(
        unit,
        Fenced(f"run {run.id} has ended already"),
        i=run.id,
        e=ending.error,
        now=unit.now,
        u=msgspec.json.encode(ending.usage),
    )
    ending = unit.writer.ledger.close(unit, run, ending, calls)
    for hook in unit.writer.ends:
        hook.ends(unit, run, ending)
    inbox.settle(unit, lane.session_key, run.id)
    if sending is None or not sending.begin(ending.outbound):
        outbox.owe(unit, lane.session_key, run.id, ending.outbound)
    if run.reply_key not in {message.key for message in ending.outbound}:
        outbox.close_preview(unit, run.id, run.reply_key, ending.bodies)
    if ending.window is not None:
        begin = ending.window.begin
        if begin is None:
            _NEW_WINDOW.execute(unit, k=lane.session_key)
        else:
            move_window(unit, lane.session_key, begin)
    if run.kind is RunKind.TASK:
        unit.writer.tasks.report(unit, run, ending)


def stop(unit: Unit, order: Admission) -> Run | None:
    """Abort the live run that the order reaches, fence off its driver, settle waiting messages."""
    key, ending = order.session_key, order.stop or Ending(state=RunState.ABORTED)
    sender_id = order.message.sender.id
    session = lanes.lock(unit, key)
    run = live(unit, key)
    if run is not None and not order.everyone and run.sender_id != sender_id:
        run = None
    whose = None if order.everyone else sender_id
    ending = _naming(ending, inbox.settle_waiting(unit, key, whose))
    theirs = sa.select(_r.c.id).where(_r.c.session_key == key, _r.c.sender_id == sender_id)
    _void(unit, _a.c.session_key == key if order.everyone else _a.c.run_id.in_(theirs))
    if run is None:
        outbox.owe(unit, key, "", ending.outbound)
    else:
        _abort(unit, session.token, run, ending, sender_id)
    if order.children:
        unit.writer.tasks.stop_below(unit, key, whose, sender_id)
    return run


def _naming(ending: Ending, dropped: Sequence[str]) -> Ending:
    """Add the dropped messages to the order's answer. A terminal puts them back on its prompt."""
    more = f" Dropped: {', '.join(quoted(text, 60) for text in dropped)}." if dropped else ""
    answers = [
        replace(answer, text=answer.text + ("" if answer.address.channel == TERMINAL else more))
        for answer in ending.outbound
    ]
    return replace(ending, outbound=tuple(answers))


def interrupt(unit: Unit, message: Admission) -> Run | None:
    """Abort the sender's own live run silently. The new message is answered next, and the earlier
    ones stay in the log."""
    session = lanes.lock(unit, message.session_key)
    run = live(unit, message.session_key)
    if run is None or run.sender_id != message.message.sender.id:
        return None
    if run.state is RunState.AWAITING_HUMAN:
        return None  # it is parked: the message may be the answer it waits for
    bodies = () if message.said is None else (message.said,)
    shown = OutboundMessage(address=run.address, text=message.drafted, key=run.reply_key)
    owed = (shown,) if message.drafted else ()
    ending = Ending(state=RunState.ABORTED, bodies=bodies, outbound=owed, error="interrupted")
    _abort(unit, session.token, run, ending, run.sender_id)
    return run


def cancel(unit: Unit, run_id: str, ending: Ending, by: str) -> Run | None:
    key = unit.scalar(sa.select(_r.c.session_key).where(_r.c.id == run_id)) or ""
    session = lanes.lock(unit, key)
    run = live(unit, key)
    if session is None or run is None or run.id != run_id:
        return None
    _abort(unit, session.token, run, ending, by)
    return run


def _abort(unit: Unit, token: int, run: Run, ending: Ending, by: str) -> None:
    """End a run from outside its driver: first, the lane's token increases."""
    lane = Lane(run.session_key, token + 1)
    lanes.take_from(unit, lane, token)
    _void(unit, _a.c.run_id == run.id)
    entries = log.read(unit, run.session_key, run.first_seq)
    so_far = [entry.body for entry in entries if entry.run_id == run.id and entry.body is not None]
    bodies = (*ending.after(so_far), CancelEntry(by=by))
    ending = replace(ending, bodies=bodies, usage=run_usage([*so_far, *bodies]))
    _end(unit, lane, run, ending)


def _void(connection: Connection, which: sa.ColumnElement[bool]) -> None:
    """Accept no more answers to these."""
    connection.execute(sa.update(_a).where(schema.APPROVAL_OPEN, which).values(state="void"))


def release(unit: Unit, lane: Lane, run: Run) -> None:
    log.append(unit, lane, run.id, ())
    unit.writer.ledger.close(unit, run, Ending(state=run.state), None)
    attempted(unit, run, -1)
    lanes.free(unit, lane)


def progressed(connection: Connection, run: Run) -> None:
    """The log has progressed: reset the run's attempts. Raises Fenced when it ended."""
    _PROGRESSED.change_one(connection, Fenced(f"run {run.id} has ended already"), i=run.id)


def snapshot(connection: Connection, digest: str) -> PromptSnapshot | None:
    """A stored prompt; None if it was removed, and a new one replaces it."""
    query = sa.select(schema.prompts.c.body).where(schema.prompts.c.digest == digest)
    body = connection.scalar(query)
    return None if body is None else msgspec.json.decode(body, type=PromptSnapshot)


def session(connection: Connection, session_key: str) -> SessionRow | None:
    """One session with its live run; None if there is none with that key."""
    row = connection.execute(sa.select(_s).where(_s.c.key == session_key)).first()
    if row is None:
        return None
    return as_struct(
        row,
        SessionRow,
        entries=row.head_seq,
        waiting=waiting(connection, session_key),
        run=live(connection, session_key),
        shared=bool(row.shared),
    )


def waiting(connection: Connection, key: str) -> int:
    """The number of a session's messages that no run has taken."""
    return WAITING.scalar(connection, k=key) or 0
