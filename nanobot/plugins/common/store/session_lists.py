"""Lists of sessions as people see them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import sqlalchemy as sa

from nanobot.plugins.common.store.session_views import (
    SESSIONS,
    UNREAD,
    as_session,
    is_called,
    one,
)
from nanobot.plugins.common.views.views import SessionView
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.verbs import SqlStore, verb

_s = schema.sessions

NEWEST = (_s.c.updated_at.desc(), _s.c.key)

_AT_ONCE = 50
"""Sessions that one transaction reads completely."""
_MOST_KEYS = 1_000


def names(
    connection: Connection, *, unread: bool, keys: Collection[str] | None, limit: int, skip: int
) -> list[str]:
    """The names of sessions. See SessionLists.newest."""
    # Read the keys alone first: the rest of a session costs queries of other tables.
    named = sa.select(_s.c.key).order_by(*NEWEST).limit(limit).offset(skip)
    if unread:
        named = named.where(UNREAD)
    if keys is not None:
        named = named.where(_s.c.key.in_(keys))
    return list(connection.scalars(named))


def of_keys(connection: Connection, keys: Sequence[str]) -> list[SessionView]:
    """The ones of these sessions that exist, in this order."""
    rows = {row.key: row for row in connection.execute(SESSIONS.where(_s.c.key.in_(keys)))}
    return [as_session(connection, rows[key]) for key in keys if key in rows]


def keys_of(connection: Connection, prefix: str) -> list[str]:
    """The sessions whose names start with this prefix, most recently changed first; at most
    1,000."""
    query = sa.select(_s.c.key).where(is_called(_s.c.key, [prefix]))
    return list(connection.scalars(query.order_by(_s.c.updated_at.desc()).limit(_MOST_KEYS)))


def forget_prompts(connection: Connection) -> int:
    """Give every session a new prompt at its next run. Returns how many had one."""
    forget = sa.update(_s).where(_s.c.prompt.is_not(None)).values(prompt=None, prompt_variant=None)
    return connection.execute(forget).rowcount


class SessionLists(SqlStore):
    """Sessions as people see them, read in short transactions."""

    one = verb(one)
    keys = verb(keys_of)
    forget_prompts = verb(forget_prompts, "forget_prompts")
    _names = verb(names)
    _of_keys = verb(of_keys)

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
