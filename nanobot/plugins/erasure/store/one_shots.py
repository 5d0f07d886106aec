"""Conversations of a single message from the shell: which of them will not be continued."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.messages import TERMINAL
from nanobot.plugins.common.store.beginnings import begins
from nanobot.plugins.common.store.session_views import ONE_SHOTS
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection

KEPT, KEPT_SECONDS = 200, 30 * 86_400.0
"""How many of the latest are kept, and how long after their last entry."""
AT_ONCE = 100

_s = schema.sessions
_r = schema.runs


def forgettable(connection: Connection, now: float) -> list[str]:
    """Some of those to remove: too old or too many, answered, and never continued."""
    newest = (_s.c.updated_at.desc(), _s.c.key)
    mine = sa.and_(begins(_s.c.key, f"{TERMINAL}:"), _s.c.key.like(ONE_SHOTS))
    kept = sa.select(_s.c.key).where(mine).order_by(*newest).limit(KEPT)
    old = _s.c.updated_at < now - KEPT_SECONDS
    ended = sa.select(sa.func.count()).where(_r.c.session_key == _s.c.key, schema.RUN_ENDED)
    alive = sa.exists().where(_r.c.session_key == _s.c.key, schema.RUN_LIVE)
    query = sa.select(_s.c.key).where(mine, sa.or_(old, _s.c.key.not_in(kept)), ~alive)
    return list(connection.scalars(query.where(ended.scalar_subquery() <= 1).limit(AT_ONCE)))
