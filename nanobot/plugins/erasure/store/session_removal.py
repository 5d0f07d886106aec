"""Removes a session with all dependent rows, some rows at a time.

The removal is noted first (see notes), so the next start resumes one that a crash interrupted.
At the end SQLite's write-ahead log is written back, because it contains earlier pages.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa

from nanobot.errors import UnknownId, UsageError
from nanobot.plugins.common.store import (
    command_tables,
    job_tables,
    rule_tables,
    search_tables,
    task_tables,
    usage_tables,
)
from nanobot.plugins.common.store.erasures import LOGGED, PLUGIN, SESSION, InPlugin, done, note
from nanobot.plugins.erasure import tables
from nanobot.plugins.erasure.store import words
from nanobot.plugins.erasure.store.erasing import bare_inbound
from nanobot.plugins.erasure.store.notes import ROWS, note_archived, note_blobs
from nanobot.session.runs import Lane
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.held_lanes import Hold
from nanobot.store.hooks import ContainedHooks
from nanobot.store.journal import lanes, log
from nanobot.store.unit import Unit, store_now

_a = schema.approvals
_b = command_tables.background_commands
_c = usage_tables.model_call_costs
_e = schema.entries
_i = schema.inbound
_o = schema.outbound
_p = schema.outbound_parts
_r = schema.runs
_s = schema.sessions
_t = task_tables.tasks
_u = rule_tables.approval_rules
_occurrences = job_tables.occurrences
_prompts = schema.prompts
_uses = schema.prompt_uses

_OF_SESSIONS = (
    *(tables.archived_logs, search_tables.indexed_logs, search_tables.session_marks),
    schema.quarantine,
)

SLICE_SECONDS = 0.005
_JOBS = 200
"""Jobs whose occurrences are searched at once."""
_RANGE = 500
"""Rows of a table without an index by session that are searched at once."""

_EMPTY_INBOUND = sa.update(_i).where(_i.c.id == sa.bindparam("i")).values(body=sa.bindparam("b"))


class Place(NamedTuple):
    """The progress of a session's removal: the step, and its last row."""

    step: int = 0
    after: Any = 0


def begin_session(unit: Unit, hold: Hold, key: str) -> int:
    """Mark the session as being removed, with the sessions of background runs that it started; from
    now on it cannot be claimed. Returns the number of its entries. Raises UsageError if it does not
    exist, or if a run is active in it.
    """
    row = unit.execute(sa.select(_s).where(_s.c.key == key).with_for_update()).first()
    if row is None:
        raise UnknownId(f"there is no session {key}")
    keys = _with_children(unit, key)
    for session_key in keys:
        run_id = _live_run(unit, session_key)
        if run_id is not None:
            raise UsageError(f"run {run_id} is alive in {session_key}: cancel it first")
    waiting = sa.update(_i).where(schema.INBOUND_OPEN, _i.c.session_key.in_(keys))
    unit.execute(waiting.values(state="settled"))
    lane = Lane(key, row.token + 1)
    lanes.own(unit, hold, lane, store_now(unit))
    for session_key in keys:
        _erase_in_plugins(unit, session_key)
        note(unit, SESSION, session_key)
    note(unit, LOGGED, key)
    return int(row.head_seq)


def resume_session(unit: Unit, hold: Hold, key: str) -> Lane | None:
    """Take the lane of a session that is being removed, so that no run begins in it before it is
    gone. None: a run has begun since the removal stopped, and must end first.
    """
    row = unit.execute(sa.select(_s.c.token).where(_s.c.key == key).with_for_update()).first()
    if row is None:
        return Lane(key, 0)
    if _live_run(unit, key) is not None:
        return None
    lane = Lane(key, row.token + 1)
    lanes.own(unit, hold, lane, store_now(unit))
    return lane


def _live_run(connection: Connection, key: str) -> str | None:
    live = sa.select(_r.c.id).where(_r.c.session_key == key, schema.RUN_LIVE)
    run_id: str | None = connection.scalar(live)
    return run_id


def _with_children(connection: Connection, key: str) -> list[str]:
    """A session, and those of background runs that were started in it or in these."""
    keys = [key]
    for parent in keys:
        begun_there = sa.select(_r.c.session_key).where(
            schema.RUN_CHILD, _r.c.parent_session == parent
        )
        keys += [child for child in connection.scalars(begun_there) if child not in keys]
    return keys


def session_slice(connection: Connection, key: str, place: Place) -> Place | None:
    """Remove some of a session's rows; returns where to continue, None when no rows are left."""
    until = time.perf_counter() + SLICE_SECONDS
    while True:
        after = _STEPS[place.step](connection, key, place.after)
        place = Place(place.step + 1) if after is None else Place(place.step, after)
        if place.step == len(_STEPS):
            return None
        if time.perf_counter() >= until:
            return place


def end_session(unit: Unit, lane: Lane) -> bool:
    """Remove the session's own row. If messages arrived in the meantime, the session starts anew
    with them. False: since then its removal was requested or resumed again, and what arrived in the
    meantime must go too.
    """
    key = lane.session_key
    row = unit.execute(sa.select(_s.c.token).where(_s.c.key == key).with_for_update()).first()
    if row is not None and row.token != lane.token:
        return False
    if not done(unit, SESSION, [key]):
        return True  # another process was faster, and it may have started anew
    unit.execute(sa.delete(_s).where(_s.c.key == key))
    waiting = sa.select(_i.c.id).where(_i.c.session_key == key, schema.INBOUND_OPEN).limit(1)
    if unit.execute(waiting).first() is not None:
        log.ensure_session(unit, key, "")
    return True


def _erase_in_plugins(unit: Unit, key: str) -> None:
    """What a plugin fails to erase is noted as not erased yet."""
    for hook in unit.writer.erases:
        if not isinstance(hook, ContainedHooks):
            hook.erases(unit, key)
            continue
        place = msgspec.json.encode(InPlugin(hook.plugin, key)).decode()
        if hook.erased(unit, key):
            done(unit, PLUGIN, [place])  # of an earlier conversation with that key
        else:
            note(unit, PLUGIN, place)


def erase_in_plugin(unit: Unit, place: InPlugin, name: str) -> None:
    """Have a plugin erase what it keeps of a session, after it failed to. It stays noted while the
    plugin is off.
    """
    for hook in unit.writer.erases:
        if isinstance(hook, ContainedHooks) and hook.plugin == place.plugin:
            hook.erases(unit, place.session_key)
            done(unit, PLUGIN, [name])


def _entries(connection: Connection, key: str, _: Any) -> Any:
    query = sa.select(_e.c.seq, _e.c.payload).where(_e.c.session_key == key)
    rows = connection.execute(query.order_by(_e.c.seq).limit(ROWS)).all()
    if not rows:
        return None
    note_blobs(connection, [payload for _, payload in rows])
    whose = _e.c.session_key == key
    connection.execute(sa.delete(_e).where(whose, _e.c.seq <= rows[-1].seq))
    return rows[-1].seq


def _words(connection: Connection, key: str, _: Any) -> Any:
    return 0 if words.remove_some(connection, key) else None


def _end_of_range(connection: Connection, table: sa.Table, after: int) -> int | None:
    some = sa.select(table.c.id).where(table.c.id > after).order_by(table.c.id).limit(_RANGE)
    last: int | None = connection.scalar(sa.select(sa.func.max(some.subquery().c.id)))
    return last


def _inbox(connection: Connection, key: str, after: Any) -> Any:
    """Rows of the inbox are kept without their content: they identify repeated deliveries."""
    end = _end_of_range(connection, _i, after)
    if end is None:
        return None
    query = sa.select(_i.c.id, _i.c.body).where(_i.c.id > after, _i.c.id <= end)
    theirs = query.where(_i.c.session_key == key, _i.c.state == "settled")
    rows = connection.execute(theirs.order_by(_i.c.id).limit(ROWS)).all()
    note_blobs(connection, [body for _, body in rows])
    if rows:
        bare = [{"i": identity, "b": bare_inbound(body)} for identity, body in rows]
        connection.execute(_EMPTY_INBOUND, bare)
    return rows[-1].id if len(rows) == ROWS else end


def _outbox(connection: Connection, key: str, after: Any) -> Any:
    end = _end_of_range(connection, _o, after)
    if end is None:
        return None
    query = sa.select(_o.c.id, _o.c.body).where(_o.c.id > after, _o.c.id <= end)
    rows = connection.execute(query.where(_o.c.session_key == key).limit(ROWS)).all()
    note_blobs(connection, [body for _, body in rows])
    ids = [row.id for row in rows]
    if ids:
        files = sa.select(_p.c.file).where(_p.c.outbound_id.in_(ids), _p.c.file.is_not(None))
        note_blobs(connection, list(connection.scalars(files)))
        connection.execute(sa.delete(_p).where(_p.c.outbound_id.in_(ids)))
        connection.execute(sa.delete(_o).where(_o.c.id.in_(ids)))
    return rows[-1].id if len(rows) == ROWS else end


def _runs(connection: Connection, key: str, _: Any) -> Any:
    ids = list(
        connection.scalars(
            sa.select(_r.c.id).where(_r.c.session_key == key, schema.RUN_ENDED).limit(ROWS)
        )
    )
    if not ids:
        return None
    connection.execute(sa.delete(_t).where(_t.c.run_id.in_(ids)))
    connection.execute(sa.delete(_r).where(_r.c.id.in_(ids)))
    return 0


def _costs(connection: Connection, key: str, after: Any) -> Any:
    end = _end_of_range(connection, _c, after)
    if end is not None:
        connection.execute(
            sa.delete(_c).where(_c.c.id > after, _c.c.id <= end, _c.c.session_key == key)
        )
    return end


def _times_of_jobs(connection: Connection, key: str, after: Any) -> Any:
    """Remove the content of what was due there, but keep the fact that it was due; otherwise a
    repeated delivery would count as new.
    """
    last = connection.scalar(sa.select(sa.func.max(_occurrences.c.job_id))) or 0
    if after >= last:
        return None
    some = sa.and_(_occurrences.c.job_id > after, _occurrences.c.job_id <= after + _JOBS)
    theirs = sa.update(_occurrences).where(some, _occurrences.c.session_key == key)
    called_off = theirs.where(job_tables.OCCURRENCE_OPEN)
    connection.execute(
        called_off.values(status="cancelled", retry_at=None, ended_at=_occurrences.c.fired_at)
    )
    connection.execute(theirs.values(body=msgspec.json.encode(""), error=None))
    return after + _JOBS


def _small_tables(connection: Connection, key: str, _: Any) -> None:
    note_archived(connection, key)
    for table in (_a, _u, _b, *_OF_SESSIONS):
        connection.execute(sa.delete(table).where(table.c.session_key == key))
    for digest in list(
        connection.scalars(sa.select(_uses.c.digest).where(_uses.c.session_key == key))
    ):
        connection.execute(
            sa.delete(_uses).where(_uses.c.session_key == key, _uses.c.digest == digest)
        )
        used = sa.exists().where(_uses.c.digest == digest)
        connection.execute(sa.delete(_prompts).where(_prompts.c.digest == digest, ~used))


_STEPS: tuple[Callable[[Connection, str, Any], Any], ...] = (
    _entries,
    _words,
    _inbox,
    _outbox,
    _costs,
    _times_of_jobs,
    _small_tables,
    _runs,
)
