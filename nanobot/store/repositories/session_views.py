"""Sessions as people see them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa

from nanobot.messages import TERMINAL, Origin
from nanobot.session.keys import LIFECYCLE, ONCE
from nanobot.session.views import SessionView
from nanobot.store.database import schema
from nanobot.store.database.results import as_struct
from nanobot.store.journal import runs
from nanobot.store.verbs import SqlStore, bare_verb

ONE_SHOTS = f"{TERMINAL}:%-{ONCE}-%"
"""The SQL pattern of the names of conversations of a single message from the shell."""

_s = schema.sessions
_m = schema.session_marks
_r = schema.runs

SILENT = (Origin.HEARTBEAT.value, LIFECYCLE.of("boot"), LIFECYCLE.of("shutdown"))
"""Sessions that are not conversations."""

# Sessions of runs that report elsewhere are not for reading, nor are heartbeats and the runs of the
# gateway's start and stop.
_HEARD = sa.exists().where(_r.c.session_key == _s.c.key, schema.RUN_CHILD)
UNREAD = sa.and_(
    sa.or_(_s.c.last_read_at.is_(None), _s.c.updated_at > _s.c.last_read_at),
    sa.not_(_HEARD),
    _s.c.key.not_in(SILENT),
)
PINNED = sa.func.coalesce(_m.c.pinned, sa.false())
ARCHIVED = sa.and_(_m.c.archived_at.is_not(None), _m.c.archived_at == _s.c.updated_at)
_SESSIONS = sa.select(
    _s,
    UNREAD.label("has_unread"),
    _s.c.head_seq.label("entries"),
    PINNED.label("pinned"),
    sa.func.coalesce(ARCHIVED, sa.false()).label("archived"),
).outerjoin(_m, _m.c.session_key == _s.c.key)

NEWEST = (_s.c.updated_at.desc(), _s.c.key)

_AT_ONCE = 50
"""Sessions that one transaction reads completely."""


def names(
    connection: sa.Connection, *, unread: bool, keys: Collection[str] | None, limit: int, skip: int
) -> list[str]:
    """The names of sessions. See Records.sessions."""
    # Read the keys alone first: the rest of a session costs queries of other tables.
    named = sa.select(_s.c.key).order_by(*NEWEST).limit(limit).offset(skip)
    if unread:
        named = named.where(UNREAD)
    if keys is not None:
        named = named.where(_s.c.key.in_(keys))
    return list(connection.scalars(named))


def of_keys(connection: sa.Connection, keys: Sequence[str]) -> list[SessionView]:
    """The ones of these sessions that exist, in this order."""
    rows = {row.key: row for row in connection.execute(_SESSIONS.where(_s.c.key.in_(keys)))}
    return [_as_session(connection, rows[key]) for key in keys if key in rows]


class SessionLists(SqlStore):
    """Lists of sessions, read in short transactions."""

    _names = bare_verb(names)
    _of_keys = bare_verb(of_keys)

    async def newest(
        self, *, unread: bool, keys: Collection[str] | None, limit: int, skip: int
    ) -> list[SessionView]:
        """See Records.sessions."""
        names = await self._names(unread=unread, keys=keys, limit=limit, skip=skip)
        return await self.whole(names)

    async def whole(self, names: Sequence[str]) -> list[SessionView]:
        """The ones of these sessions that exist, in this order."""
        sessions: list[SessionView] = []
        for first in range(0, len(names), _AT_ONCE):
            sessions += await self._of_keys(names[first : first + _AT_ONCE])
        return sessions


def one(connection: sa.Connection, key: str) -> SessionView | None:
    row = connection.execute(_SESSIONS.where(_s.c.key == key)).first()
    return None if row is None else _as_session(connection, row)


def _as_session(connection: sa.Connection, row: sa.Row[*tuple[Any, ...]]) -> SessionView:
    live = runs.live(connection, row.key)
    waiting = runs.waiting(connection, row.key)
    run = None if live is None else live.id
    pinned, archived = bool(row.pinned), bool(row.archived)
    return as_struct(
        row, SessionView, waiting=waiting, run=run, pinned=pinned, archived=archived, found=""
    )
