"""Sessions as people see them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from nanobot.messages import TERMINAL, Origin
from nanobot.plugins.common.session_keys import LIFECYCLE, ONCE
from nanobot.plugins.common.store import search_tables
from nanobot.plugins.common.views.views import SessionView
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.database.results import as_struct
from nanobot.store.journal import runs

ONE_SHOTS = f"{TERMINAL}:%-{ONCE}-%"
"""The SQL pattern of the names of conversations of a single message from the shell."""

_s = schema.sessions
_m = search_tables.session_marks
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
SESSIONS = sa.select(
    _s,
    UNREAD.label("has_unread"),
    _s.c.head_seq.label("entries"),
    PINNED.label("pinned"),
    sa.func.coalesce(ARCHIVED, sa.false()).label("archived"),
).outerjoin(_m, _m.c.session_key == _s.c.key)


def one(connection: Connection, key: str) -> SessionView | None:
    """One session."""
    row = connection.execute(SESSIONS.where(_s.c.key == key)).first()
    return None if row is None else as_session(connection, row)


def as_session(connection: Connection, row: sa.Row[*tuple[Any, ...]]) -> SessionView:
    """A row of `SESSIONS` as people see it."""
    live = runs.live(connection, row.key)
    waiting = runs.waiting(connection, row.key)
    run = None if live is None else live.id
    pinned, archived = bool(row.pinned), bool(row.archived)
    return as_struct(
        row, SessionView, waiting=waiting, run=run, pinned=pinned, archived=archived, found=""
    )


def is_called(column: sa.Column[Any], names: Sequence[str]) -> sa.ColumnElement[bool]:
    """Whether a session has one of these names, or starts with one of them that ends with a colon.
    SQLite's LIKE matches "Anna" for "anna".
    """
    each = (
        sa.func.substr(column, 1, len(name)) == name if name.endswith(":") else column == name
        for name in names
    )
    return sa.or_(sa.false(), *each)
