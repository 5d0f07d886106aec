"""The runs that were started in a session, and those that these started."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.store.database import schema
from nanobot.store.database.connection import Connection

_r = schema.runs


def below(connection: Connection, session_key: str, sender_id: str | None) -> list[str]:
    """The live runs that were started in a session, and their descendants, even of runs that have
    ended.
    """
    theirs = sa.true() if sender_id is None else _r.c.sender_id == sender_id
    begun = sa.select(_r.c.id, _r.c.session_key).where(_r.c.parent_session == session_key, theirs)
    all_of = begun.cte("below", recursive=True)
    more = sa.select(_r.c.id, _r.c.session_key).where(
        _r.c.parent_session == all_of.c.session_key, theirs
    )
    all_of = all_of.union(more)
    live = sa.select(_r.c.id).where(_r.c.id.in_(sa.select(all_of.c.id)), schema.RUN_LIVE)
    return list(connection.scalars(live.order_by(_r.c.created_at, _r.c.id)))
