"""How much of each session has been processed for memory, over SQL."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from nanobot.plugins.common.store.after_runs import SqlAfterRuns
from nanobot.plugins.common.store.beginnings import begins
from nanobot.plugins.memory.remember import PEOPLE, DueSession, Exchanges
from nanobot.session.entries import RememberEntry, UserEntry
from nanobot.session.keys import FORKS
from nanobot.session.store_write import StoreWrite
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.journal import log, runs
from nanobot.store.unit import Unit
from nanobot.store.verbs import transaction

_s = schema.sessions
_e = schema.entries
_r = schema.runs
_i = schema.inbound
_o = schema.outbound
_a = schema.approvals

_SESSIONS_AT_ONCE = 500
_MOST_ENTRIES = 2_000
"""Entries of one session to read: only the end of an older log is remembered."""


class SqlRemembering(SqlAfterRuns):
    """See mind.remember.RememberRecords: the same code for SQLite and PostgreSQL."""

    @transaction()
    def due(
        self, unit: Unit, quiet_seconds: float, beyond: str
    ) -> tuple[list[DueSession], str | None]:
        some = sa.select(_s.c.key).where(_s.c.key > beyond).order_by(_s.c.key)
        keys = some.limit(_SESSIONS_AT_ONCE).subquery()
        last = unit.scalar(sa.select(sa.func.max(keys.c.key)))
        if last is None:
            return [], None
        return _behind(unit, quiet_seconds, _s.c.key > beyond, _s.c.key <= last), last

    @transaction()
    def due_among(self, unit: Unit, quiet_seconds: float, keys: Sequence[str]) -> list[DueSession]:
        return _behind(unit, quiet_seconds, _s.c.key.in_(keys))

    @transaction()
    def exchanges(self, connection: Connection, due: DueSession) -> Exchanges:
        window = connection.scalar(sa.select(_s.c.window_from).where(_s.c.key == due.session_key))
        start = max(min(window or 1, due.remembered_seq + 1), due.head - _MOST_ENTRIES)
        within = log.read(connection, due.session_key, start, due.head + 1)
        unasked = {
            entry.run_id
            for entry in within
            if entry.seq > due.remembered_seq
            and isinstance(entry.body, UserEntry)
            and entry.body.origin not in PEOPLE
        }
        spoke = {run_id for run_id in unasked if _spoke(connection, due.session_key, run_id)}
        return Exchanges(entries=within, spoke=frozenset(spoke))

    @transaction("remember")
    def record(
        self,
        unit: Unit,
        due: DueSession,
        run_id: str,
        entry: RememberEntry,
        call: StoreWrite,
    ) -> RememberEntry | None:
        lane = log.lane_of(unit, due.session_key)
        call.write(unit)
        session = unit.execute(
            sa.select(_s.c.remembered_seq, _s.c.updated_at, _s.c.head_seq).where(
                _s.c.key == due.session_key
            )
        ).one()
        if session.remembered_seq != due.remembered_seq:
            return None
        query = sa.select(_e.c.seq, _e.c.payload).where(
            _e.c.session_key == due.session_key,
            _e.c.seq > max(due.remembered_seq, session.head_seq - _MOST_ENTRIES),
            _e.c.kind == "remember",
            _e.c.payload.is_not(None),
        )
        for seq, payload in unit.execute(query.order_by(_e.c.seq.desc())):
            theirs = log.body_of(due.session_key, seq, payload)
            if isinstance(theirs, RememberEntry) and theirs.upto > due.remembered_seq:
                return theirs
        log.append(unit, lane, run_id, [entry])
        # Not an activity: the session is not touched, and does not become unread.
        same = sa.update(_s).where(_s.c.key == due.session_key)
        unit.execute(same.values(updated_at=session.updated_at))
        return entry

    @transaction("remembered")
    def done(self, connection: Connection, due: DueSession, upto: int) -> None:
        session = sa.update(_s).where(_s.c.key == due.session_key, _s.c.remembered_seq < upto)
        connection.execute(session.values(remembered_seq=upto))


def _behind(unit: Unit, quiet_seconds: float, *which: sa.ColumnElement[bool]) -> list[DueSession]:
    """Those of some sessions that have entries that are not processed."""
    live = sa.exists().where(_r.c.session_key == _s.c.key, schema.RUN_LIVE)
    waiting = sa.exists().where(_i.c.session_key == _s.c.key, runs.PENDING)
    quiet = sa.and_(_s.c.updated_at <= unit.now - quiet_seconds, ~live, ~waiting)
    query = (
        sa.select(_s.c.key, _s.c.remembered_seq, _s.c.head_seq, _s.c.model, quiet)
        .where(*which, _s.c.remembered_seq < _s.c.head_seq)
        .where(~_s.c.key.startswith(FORKS.of("")))
        .order_by(_s.c.updated_at)
    )
    return [
        DueSession(
            session_key=key, remembered_seq=remembered, head=head, model=model, quiet=bool(calm)
        )
        for key, remembered, head, model, calm in unit.execute(query)
    ]


def _spoke(connection: Connection, session_key: str, run_id: str) -> bool:
    """Whether a run sent a message or asked a person. Messages have no index by run; their keys
    begin with its id."""
    sent = sa.select(_o.c.id).where(begins(_o.c.key, f"{run_id}:"), _o.c.run_id == run_id)
    asked = sa.select(_a.c.id).where(_a.c.session_key == session_key, _a.c.run_id == run_id)
    return any(connection.execute(some.limit(1)).first() is not None for some in (sent, asked))
