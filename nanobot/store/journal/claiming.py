"""Claiming a lane: finds sessions with something to do, and returns the run of a claim."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import sqlalchemy as sa

from nanobot.messages import InboundMessage, Origin, Role
from nanobot.session.entries import Body, Entry, UserEntry
from nanobot.session.keys import REPORTS
from nanobot.session.runs import Claim, Lane, Ready, Run, kind_for
from nanobot.session.states import RunKind, RunState
from nanobot.store.database import message_tables as schema
from nanobot.store.database.connection import Connection
from nanobot.store.database.dialect import nothing_follows, one_snapshot
from nanobot.store.database.prepared import Prepared
from nanobot.store.held_lanes import Hold
from nanobot.store.journal import inbox, lanes, log, runs, waiting
from nanobot.store.unit import Unit, store_now

_r = schema.runs
_i = schema.inbound

_s = schema.sessions

_lease = (_s.c.token, _s.c.owner, _s.c.lease_until)
_LIVE = Prepared(
    sa.select(_r.c.session_key, _r.c.kind, _r.c.attempts, _r.c.state, _r.c.role, *_lease)
    .select_from(_r.outerjoin(_s, _s.c.key == _r.c.session_key))
    .where(schema.RUN_LIVE)
    .order_by(_r.c.created_at)
)
# By id + 0: if ordered by the plain id, SQLite would read all messages ever stored.
_WAITING = Prepared(
    sa.select(_i.c.session_key, _i.c.origin, _i.c.role, _i.c.not_before, _i.c.awaiting_files)
    .add_columns(_i.c.at, *_lease)
    .select_from(_i.outerjoin(_s, _s.c.key == _i.c.session_key))
    .where(schema.INBOUND_OPEN, _i.c.state == "pending")
    .order_by(_i.c.id + sa.literal_column("0"))
)
_BUSY_SECONDS = 0.2
"""When to retry a lane that another transaction has locked."""
MOST_READ = 5_000
"""Maximum number of entries before a run that it sees; models have far smaller windows."""


def ready(unit: Unit) -> list[Ready]:
    one_snapshot(unit)  # a message claimed meanwhile is either pending or in a run
    now = store_now(unit)
    lanes_by_key: dict[str, Ready | None] = {}
    for row in _LIVE.execute(unit):
        if _in_use(unit, row, now):
            lanes_by_key[row.session_key] = None
            continue
        parked, owner = row.state == RunState.AWAITING_HUMAN, row.role == Role.OWNER
        held_yet = _waits(unit, row.session_key) if parked or row.kind == RunKind.TASK else 0.0
        lanes_by_key[row.session_key] = Ready(
            row.session_key, RunKind(row.kind), row.attempts, held_yet, owner, parked
        )
    for row in _WAITING.execute(unit):
        key = row.session_key
        if key not in lanes_by_key:
            held = _in_use(unit, row, now)
            lanes_by_key[key] = None if held else _with_message(row, unit.now)
        lane = lanes_by_key[key]
        if lane is not None and lane.held and row.not_before:
            # The last message of a burst decides when it may be taken.
            held_yet = inbox.held_yet(row.not_before, row.at, unit.now)
            later = max(lane.held, held_yet)
            lanes_by_key[key] = msgspec.structs.replace(lane, held=later)
    return [lane for lane in lanes_by_key.values() if lane is not None]


def _with_message(row: Any, now: float) -> Ready:
    """A lane with its first waiting message."""
    until = max(row.not_before, inbox.files_until(row.awaiting_files, row.at))
    kind = kind_for(Origin(row.origin))
    held = inbox.held_yet(until, row.at, now)
    return Ready(row.session_key, kind, held=held, owner=row.role == Role.OWNER)


def _in_use(unit: Unit, row: Any, now: float) -> bool:
    """Whether the lane is held, from a row with its session's lease."""
    return row.token is not None and lanes.in_use(unit, row.session_key, row, now)


def claim(unit: Unit, hold: Hold, key: str, run_id: str, zone: str) -> Claim | None:
    hold.release()  # Guard may repeat the unit of work
    session, (live_row, waiting_rows) = lanes.lock_at_hand(
        unit,
        key,
        lambda: (runs.LIVE.execute(unit, k=key), inbox.NEXT.execute(unit, k=key)),
    )
    if session is None:
        return None  # a thread that waited here could not serve another lane
    now, row = lanes.now_of(unit, session), live_row.first()
    if lanes.in_use(unit, key, session, now):
        return None
    lane = Lane(key, session.token + 1)
    live = None if row is None else runs.as_run(row)
    parked = live if live is not None and live.state is RunState.AWAITING_HUMAN else None
    if parked is not None and waiting.waits(unit, parked) > 0:
        return None
    if live is not None and unit.writer.tasks.waits(unit, live) > 0:
        return None
    own: tuple[Entry, ...] | None = None
    if live is not None:
        lanes.own(unit, hold, lane, now)
        if parked is not None:
            waiting.go_on(unit, lane, parked)
        run = _again(unit, live)
    else:
        turn = inbox.one_turn(inbox.as_pending(waiting_rows))
        taken = inbox.here(turn, unit.now)
        if not taken or inbox.hold(taken, unit.now):
            return None
        lanes.own(unit, hold, lane, now)
        run_id = own_id(unit, taken[0].message, run_id)
        inbox.take(unit, run_id, taken)
        run, own = begin(unit, lane, run_id, taken, zone, session)
    return claimed(unit, lane, run, session, own)


def claimed(
    connection: Connection, lane: Lane, run: Run, session: Any, own: tuple[Entry, ...] | None = None
) -> Claim:
    """The claim of a lane, with the session's row from before and, of a new run, its entries. Ends
    the changes of the transaction."""
    window_from = _window(connection, session, run)
    moved = window_from != session.window_from
    nothing_follows(connection)
    return Claim(
        lane=lane,
        run=run,
        entries=_seen(connection, run, window_from, own),
        window_from=window_from,
        prompt=None if moved else session.prompt,
        prompt_variant=None if moved else session.prompt_variant,
        model=session.model,
        shared=bool(session.shared),
    )


def _window(connection: Connection, session: Any, run: Run) -> int:
    """The start of the window for the run. If many posts came and no model call has moved the
    window for long, it moves here."""
    begin = int(session.window_from)
    if run.first_seq - begin <= MOST_READ:
        return begin
    begin = run.first_seq - MOST_READ
    runs.move_window(connection, run.session_key, begin)
    return begin


def _seen(
    connection: Connection, run: Run, window_from: int, own: tuple[Entry, ...] | None
) -> tuple[Entry, ...]:
    """The part of the log that the run sees (`own`: the entries of a new run). Jobs bring their
    history: their sessions grow with every run, and a run does not read it."""
    if own is None:
        own = log.read(connection, run.session_key, max(run.first_seq, window_from))
    bodies = (entry.body for entry in own if entry.run_id == run.id)
    several = (body.options for body in bodies if isinstance(body, UserEntry) and body.options)
    if any(options.history is not None for options in several):
        return own
    return log.read(connection, run.session_key, window_from, run.first_seq) + own


def _again(connection: Connection, run: Run) -> Run:
    """A live run without a driver: count its last attempt as an unclean end."""
    runs.attempted(connection, run, 1)
    run = msgspec.structs.replace(run, attempts=run.attempts + 1)
    if run.state is RunState.QUEUED:
        runs.transition(connection, run, RunState.PREPARING)
        run = msgspec.structs.replace(run, state=RunState.PREPARING)
    return run


def own_id(connection: Connection, message: InboundMessage, run_id: str) -> str:
    """The id of a message's run: the requested one, unless there was such a run before."""
    requested = "" if message.options is None else message.options.run_id
    return requested if requested and not runs.is_known(connection, requested) else run_id


def begin(
    unit: Unit, lane: Lane, run_id: str, taken: Sequence[inbox.Pending], zone: str, head: Any
) -> tuple[Run, tuple[Entry, ...]]:
    """Create the run of messages that it has taken, in a lane of ours; returns its entries, too."""
    first = taken[0]
    message = first.message
    bodies: list[Body] = [inbox.as_entry(unit, p, zone) for p in taken]
    waits = unit.writer.waits if message.origin is Origin.APPROVAL else None
    approved = [] if waits is None else waits.approved(unit, message)
    bodies += approved
    entries = log.append(unit, lane, run_id, bodies, head)
    run = Run(
        id=run_id,
        session_key=lane.session_key,
        kind=kind_for(message.origin),
        state=RunState.TOOL_RUNNING if approved else RunState.PREPARING,
        origin=message.origin,
        address=message.address,
        sender_id=message.sender.id,
        role=first.role,
        reply_to=message.message_id,
        first_seq=entries[0].seq,
        attempts=1,
        created_at=unit.now,
    )
    of_report = REPORTS.id_of(message.dedupe_key) if message.origin is Origin.RUN else None
    runs.insert(unit, run, of_report)
    return run, entries


def take_pending(unit: Unit, lane: Lane, run: Run, zone: str) -> tuple[Entry, ...]:
    log.fence(unit, lane)
    steering = []
    for pending in inbox.pending(unit, lane.session_key):
        message = pending.message
        if pending.alone and message.sender.id == run.sender_id:
            break
        own = message.sender.id == run.sender_id and message.address == run.address
        if own and message.origin in (Origin.USER, Origin.RUN):
            steering.append(pending)
    taken = inbox.here(steering, unit.now)
    if not taken:
        return ()
    inbox.take(unit, run.id, taken)
    bodies = [inbox.as_entry(unit, pending, zone, steered=True) for pending in taken]
    return log.append(unit, lane, run.id, bodies)


def held(unit: Unit, session_key: str) -> float:
    exists = lanes.look(unit, session_key) is not None
    if exists and lanes.lock_at_hand(unit, session_key, lambda: None)[0] is None:
        return _BUSY_SECONDS
    return _waits(unit, session_key)


def history(connection: Connection, session_key: str) -> tuple[Entry, ...]:
    session = lanes.look(connection, session_key)
    if session is None:
        return ()
    return log.read(connection, session_key, max(session.window_from, session.head_seq - MOST_READ))


def _waits(unit: Unit, session_key: str) -> float:
    live = runs.live(unit, session_key)
    if live is not None and live.state is RunState.AWAITING_HUMAN:
        return max(waiting.waits(unit, live), 0.001)
    if live is not None:
        return unit.writer.tasks.waits(unit, live)
    return inbox.hold(inbox.one_turn(inbox.pending(unit, session_key)), unit.now)
