"""Views of the store for people: nothing here writes."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.journal import SessionRow
from nanobot.store import runs, schema

_s = schema.sessions
_r = schema.runs
_i = schema.inbound


def session(connection: sa.Connection, key: str) -> SessionRow | None:
    """One session; None when there is none of that key."""
    row = connection.execute(sa.select(_s).where(_s.c.key == key)).first()
    if row is None:
        return None
    live = connection.execute(sa.select(_r).where(_r.c.session_key == key, schema.RUN_LIVE)).first()
    waiting = connection.scalar(
        sa.select(sa.func.count()).where(
            _i.c.session_key == key, schema.INBOUND_OPEN, _i.c.state == "pending"
        )
    )
    return SessionRow(
        key=row.key,
        title=row.title,
        model=row.model,
        updated_at=row.updated_at,
        has_unread=row.last_read_at is None or row.updated_at > row.last_read_at,
        entries=row.head_seq,
        waiting=waiting or 0,
        run=None if live is None else runs.as_run(live),
    )
