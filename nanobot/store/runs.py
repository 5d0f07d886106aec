"""Runs and the lanes they run in: claim, progress, finish, stop."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import sqlalchemy as sa

from nanobot.agent.states import PREDECESSORS, RunKind, RunState
from nanobot.bus.events import Address, Origin, Role
from nanobot.errors import Fenced
from nanobot.journal import Admission, Claim, Ending, Lane, Ready, Run, Snapshot
from nanobot.session.entries import Body, CancelEntry, Entry, ModelCallEntry, PromptEntry
from nanobot.store import inbox, log, outbox, schema
from nanobot.store.dialect import insert_ignore
from nanobot.store.hot import hot
from nanobot.store.unit import Writer, store_now

_s = schema.sessions
_r = schema.runs
_i = schema.inbound

_RUN_INSERT = sa.insert(_r)
_LIVE = sa.select(_r).where(_r.c.session_key == sa.bindparam("k"), schema.RUN_LIVE)
_SESSION = sa.select(
    _s.c.token,
    _s.c.owner,
    _s.c.lease_until,
    _s.c.window_from,
    _s.c.prompt,
    _s.c.flavour,
    _s.c.model,
).where(_s.c.key == sa.bindparam("k"))
_SESSION_LOCKED = _SESSION.with_for_update()
_OWN = (
    sa.update(_s)
    .where(_s.c.key == sa.bindparam("k"), _s.c.token == sa.bindparam("was"))
    .values(token=sa.bindparam("t"), owner=sa.bindparam("o"), lease_until=sa.bindparam("until"))
)
# The token moves on here too: who let go of a lane can write no more.
_FREE = (
    sa.update(_s)
    .where(_s.c.key == sa.bindparam("k"), _s.c.token == sa.bindparam("t"))
    .values(token=_s.c.token + 1, owner=None, lease_until=None)
)
_RENEW = (
    sa.update(_s).where(_s.c.owner == sa.bindparam("o")).values(lease_until=sa.bindparam("until"))
)
_PROMPT = (
    sa.update(_s)
    .where(_s.c.key == sa.bindparam("k"))
    .values(prompt=sa.bindparam("p"), flavour=sa.bindparam("f"), window_from=sa.bindparam("w"))
)
_NEW_WINDOW = (
    sa.update(_s)
    .where(_s.c.key == sa.bindparam("k"))
    .values(prompt=None, flavour=None, window_from=_s.c.head_seq + 1)
)
_ATTEMPTS = (
    sa.update(_r)
    .where(_r.c.id == sa.bindparam("i"))
    .values(attempts=_r.c.attempts + sa.bindparam("n"))
)


def _move(state: RunState) -> sa.Update:
    before = sa.text("runs.state IN ({})".format(", ".join(f"'{s}'" for s in PREDECESSORS[state])))
    return sa.update(_r).where(_r.c.id == sa.bindparam("i"), before).values(state=str(state))


_MOVES = {state: _move(state) for state in RunState if PREDECESSORS[state]}
_PROGRESS = {
    state: move.values(progress=_r.c.progress + 1, attempts=1) for state, move in _MOVES.items()
}
_ENDS = {
    state: move.values(
        error=sa.bindparam("e"), ended_at=sa.bindparam("now"), usage=sa.bindparam("u")
    )
    for state, move in _MOVES.items()
}
_PROGRESSED = (
    sa.update(_r)
    .where(_r.c.id == sa.bindparam("i"), schema.RUN_LIVE)
    .values(progress=_r.c.progress + 1, attempts=1)
)
hot(
    _RUN_INSERT,
    _LIVE,
    _SESSION,
    _SESSION_LOCKED,
    _OWN,
    _FREE,
    _RENEW,
    _PROMPT,
    _NEW_WINDOW,
    _ATTEMPTS,
    _PROGRESSED,
)
hot(*_MOVES.values(), *_PROGRESS.values(), *_ENDS.values())


def transition(
    connection: sa.Connection, run: Run, state: RunState, *, progress: bool = False
) -> None:
    """Compare-and-set the run's state after the one table; raises Fenced when it does not fit."""
    moved = connection.execute((_PROGRESS if progress else _MOVES)[state], {"i": run.id})
    if moved.rowcount != 1:
        raise Fenced(f"run {run.id} cannot become {state}: it has ended or moved on")


def as_run(row: sa.Row[tuple[object, ...]]) -> Run:
    """A row of the table as the port's type."""
    r = row._mapping  # noqa: SLF001 - SQLAlchemy's public name for it
    return Run(
        id=r["id"],
        session_key=r["session_key"],
        kind=RunKind(r["kind"]),
        state=RunState(r["state"]),
        origin=Origin(r["origin"]),
        address=Address(r["channel"], r["chat_id"], r["thread_id"]),
        sender_id=r["sender_id"],
        role=Role(r["role"]),
        reply_to=r["reply_to"],
        first_seq=r["first_seq"],
        attempts=r["attempts"],
        created_at=r["created_at"],
        error=r["error"],
        ended_at=r["ended_at"],
    )


def ready(connection: sa.Connection, writer: Writer) -> list[Ready]:
    """See Journal.ready."""
    now = store_now(connection, writer)
    found: dict[str, Ready] = {}
    live = sa.select(_r.c.session_key, _r.c.kind, _r.c.attempts).where(schema.RUN_LIVE)
    for key, kind, attempts in connection.execute(live.order_by(_r.c.created_at)):
        found[key] = Ready(key, RunKind(kind), attempts)
    waiting = sa.select(_i.c.session_key, _i.c.origin).where(
        schema.INBOUND_OPEN, _i.c.state == "pending"
    )
    for key, origin in connection.execute(waiting.order_by(_i.c.id)):
        found.setdefault(key, Ready(key, inbox.kind_for(Origin(origin))))
    return [one for key, one in found.items() if not _held(connection, writer, key, now)]


def _held(connection: sa.Connection, writer: Writer, key: str, now: float) -> bool:
    row = connection.execute(_SESSION, {"k": key}).first()
    return row is not None and _held_by_another(writer, row.owner, row.lease_until, now)


def _held_by_another(writer: Writer, owner: str | None, until: float | None, now: float) -> bool:
    if owner is None:
        return False
    if writer.lease is None:
        return owner == writer.owner
    return until is not None and until > now


def claim(
    connection: sa.Connection, writer: Writer, key: str, run_id: str, zone: str
) -> Claim | None:
    """See Journal.claim."""
    session = connection.execute(_SESSION_LOCKED, {"k": key}).first()
    if session is None:
        return None
    now = store_now(connection, writer)
    if _held_by_another(writer, session.owner, session.lease_until, now):
        return None
    lane = Lane(key, session.token + 1)
    until = None if writer.lease is None else now + writer.lease
    owning = {"k": key, "was": session.token, "t": lane.token, "o": writer.owner, "until": until}
    live = connection.execute(_LIVE, {"k": key}).first()
    if live is not None:
        connection.execute(_OWN, owning)
        run = _again(connection, as_run(live))
    else:
        taken = inbox.one_turn(inbox.pending(connection, key))
        if not taken:
            return None
        connection.execute(_OWN, owning)
        run = _begin(connection, writer, lane, run_id, taken, zone)
    return Claim(
        lane=lane,
        run=run,
        entries=log.read(connection, key, session.window_from),
        window_from=session.window_from,
        prompt=session.prompt,
        flavour=session.flavour,
        model=session.model,
    )


def _again(connection: sa.Connection, run: Run) -> Run:
    """A live run that nobody drives: its last attempt ended uncleanly, which counts."""
    connection.execute(_ATTEMPTS, {"i": run.id, "n": 1})
    return msgspec.structs.replace(run, attempts=run.attempts + 1)


def _begin(
    connection: sa.Connection,
    writer: Writer,
    lane: Lane,
    run_id: str,
    taken: Sequence[inbox.Pending],
    zone: str,
) -> Run:
    first = taken[0]
    message = first.message
    inbox.take(connection, run_id, taken)
    made = log.append(connection, writer, lane, run_id, [inbox.as_entry(p, zone) for p in taken])
    run = Run(
        id=run_id,
        session_key=lane.session_key,
        kind=inbox.kind_for(message.origin),
        state=RunState.PREPARING,
        origin=message.origin,
        address=message.address,
        sender_id=message.sender.id,
        role=first.role,
        reply_to=message.message_id,
        first_seq=made[0].seq,
        attempts=1,
        created_at=writer.clock.now(),
    )
    connection.execute(
        _RUN_INSERT,
        {
            "id": run.id,
            "session_key": run.session_key,
            "kind": run.kind,
            "state": run.state,
            "origin": run.origin,
            "channel": run.address.channel,
            "chat_id": run.address.chat_id,
            "thread_id": run.address.thread_id,
            "sender_id": run.sender_id,
            "role": run.role,
            "reply_to": run.reply_to,
            "first_seq": run.first_seq,
            "attempts": run.attempts,
            "progress": 0,
            "created_at": run.created_at,
        },
    )
    return run


def take_pending(
    connection: sa.Connection, writer: Writer, lane: Lane, run: Run, zone: str
) -> tuple[Entry, ...]:
    """See Journal.take_pending."""
    log.fence(connection, lane)
    steering = []
    for one in inbox.pending(connection, lane.session_key):
        message = one.message
        if one.command and message.sender.id == run.sender_id:
            break
        own = message.sender.id == run.sender_id and message.address == run.address
        if own and message.origin is Origin.USER:
            steering.append(one)
    if not steering:
        return ()
    inbox.take(connection, run.id, steering)
    bodies = [inbox.as_entry(one, zone, steered=True) for one in steering]
    return log.append(connection, writer, lane, run.id, bodies)


def start_model(
    connection: sa.Connection,
    writer: Writer,
    lane: Lane,
    run: Run,
    bodies: Sequence[Body],
    prompt: Snapshot | None,
) -> tuple[Entry, ...]:
    """See Journal.start_model."""
    made = log.append(connection, writer, lane, run.id, bodies)
    transition(connection, run, RunState.MODEL_RUNNING)
    call = bodies[-1]
    for body in bodies:
        if isinstance(body, PromptEntry) and isinstance(call, ModelCallEntry):
            now = {"p": body.digest, "f": body.flavour, "w": call.window_from}
            connection.execute(_PROMPT, {"k": lane.session_key, **now})
            if prompt is not None:
                row = {"digest": body.digest, "body": msgspec.json.encode(prompt)}
                connection.execute(insert_ignore(connection, schema.snapshots), row)
    return made


def finish(connection: sa.Connection, writer: Writer, lane: Lane, run: Run, ending: Ending) -> bool:
    """See Journal.finish."""
    _end(connection, writer, lane, run, ending)
    connection.execute(_FREE, {"k": lane.session_key, "t": lane.token})
    return inbox.any_waiting(connection, lane.session_key)


def _end(connection: sa.Connection, writer: Writer, lane: Lane, run: Run, ending: Ending) -> None:
    log.append(connection, writer, lane, run.id, ending.bodies)
    moved = connection.execute(
        _ENDS[ending.state],
        {
            "i": run.id,
            "e": ending.error,
            "now": writer.clock.now(),
            "u": msgspec.json.encode(ending.usage),
        },
    )
    if moved.rowcount != 1:
        raise Fenced(f"run {run.id} has ended already")
    inbox.settle(connection, lane.session_key, run.id)
    outbox.owe(connection, writer, lane.session_key, run.id, ending.outbound)
    if ending.new_window:
        connection.execute(_NEW_WINDOW, {"k": lane.session_key})


def stop(connection: sa.Connection, writer: Writer, order: Admission) -> Run | None:
    """Abort the live run that the order may reach, fence its driver, settle what waits."""
    key, ending = order.session_key, order.stop or Ending(state=RunState.ABORTED)
    sender_id = order.message.sender.id
    session = connection.execute(_SESSION_LOCKED, {"k": key}).one()
    live = connection.execute(_LIVE, {"k": key}).first()
    run = None if live is None else as_run(live)
    if run is not None and not order.everyone and run.sender_id != sender_id:
        run = None
    inbox.settle_waiting(connection, key, None if order.everyone else sender_id)
    if run is None:
        outbox.owe(connection, writer, key, "", ending.outbound)
        return None
    _abort(connection, writer, session.token, run, ending, sender_id)
    return run


def cancel(
    connection: sa.Connection, writer: Writer, run_id: str, ending: Ending, by: str
) -> Run | None:
    """See Records.cancel."""
    key = connection.scalar(sa.select(_r.c.session_key).where(_r.c.id == run_id))
    session = connection.execute(_SESSION_LOCKED, {"k": key}).first()
    live = connection.execute(_LIVE, {"k": key}).first()
    if session is None or live is None or live.id != run_id:
        return None
    run = as_run(live)
    _abort(connection, writer, session.token, run, ending, by)
    return run


def _abort(
    connection: sa.Connection, writer: Writer, token: int, run: Run, ending: Ending, by: str
) -> None:
    """End a run over the head of whoever drives it: the lane's token moves on first."""
    lane = Lane(run.session_key, token + 1)
    fencing = {"k": run.session_key, "was": token, "t": lane.token, "o": None, "until": None}
    connection.execute(_OWN, fencing)
    bodies = (*ending.bodies, CancelEntry(by=by))
    _end(connection, writer, lane, run, msgspec.structs.replace(ending, bodies=bodies))


def release(connection: sa.Connection, writer: Writer, lane: Lane, run: Run) -> None:
    """See Journal.release."""
    log.append(connection, writer, lane, run.id, ())
    connection.execute(_ATTEMPTS, {"i": run.id, "n": -1})
    connection.execute(_FREE, {"k": lane.session_key, "t": lane.token})


def renew(connection: sa.Connection, writer: Writer) -> None:
    """See Journal.renew."""
    if writer.lease is not None:
        until = store_now(connection, writer) + writer.lease
        connection.execute(_RENEW, {"o": writer.owner, "until": until})


def progressed(connection: sa.Connection, run: Run) -> None:
    """Something new is in the log: the run's attempts start again. Raises Fenced when it ended."""
    moved = connection.execute(_PROGRESSED, {"i": run.id})
    if moved.rowcount != 1:
        raise Fenced(f"run {run.id} has ended already")
