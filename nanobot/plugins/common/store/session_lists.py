"""Lists of sessions as people see them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import sqlalchemy as sa

from nanobot.session.views import SessionView
from nanobot.store.database import schema
from nanobot.store.repositories.session_views import SESSIONS, UNREAD, as_session
from nanobot.store.verbs import SqlStore, bare_verb

_s = schema.sessions

NEWEST = (_s.c.updated_at.desc(), _s.c.key)

_AT_ONCE = 50
"""Sessions that one transaction reads completely."""


def names(
    connection: sa.Connection, *, unread: bool, keys: Collection[str] | None, limit: int, skip: int
) -> list[str]:
    """The names of sessions. See SessionLists.newest."""
    # Read the keys alone first: the rest of a session costs queries of other tables.
    named = sa.select(_s.c.key).order_by(*NEWEST).limit(limit).offset(skip)
    if unread:
        named = named.where(UNREAD)
    if keys is not None:
        named = named.where(_s.c.key.in_(keys))
    return list(connection.scalars(named))


def of_keys(connection: sa.Connection, keys: Sequence[str]) -> list[SessionView]:
    """The ones of these sessions that exist, in this order."""
    rows = {row.key: row for row in connection.execute(SESSIONS.where(_s.c.key.in_(keys)))}
    return [as_session(connection, rows[key]) for key in keys if key in rows]


class SessionLists(SqlStore):
    """Lists of sessions, read in short transactions."""

    _names = bare_verb(names)
    _of_keys = bare_verb(of_keys)

    async def newest(
        self,
        *,
        limit: int,
        unread: bool = False,
        skip: int = 0,
        keys: Collection[str] | None = None,
    ) -> list[SessionView]:
        """The sessions that changed last, after the first `skip`. `unread`: only unread ones.
        `keys`: only these (None: all)."""
        names = await self._names(unread=unread, keys=keys, limit=limit, skip=skip)
        return await self.whole(names)

    async def whole(self, names: Sequence[str]) -> list[SessionView]:
        """The ones of these sessions that exist, in this order."""
        sessions: list[SessionView] = []
        for first in range(0, len(names), _AT_ONCE):
            sessions += await self._of_keys(names[first : first + _AT_ONCE])
        return sessions
