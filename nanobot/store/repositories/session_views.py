"""Sessions as people see them: listed, named, pinned, archived."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from nanobot.messages import TERMINAL, Origin
from nanobot.search.conversations import Filter
from nanobot.session.keys import LIFECYCLE, ONCE
from nanobot.session.views import SessionView
from nanobot.store.database import schema
from nanobot.store.database.dialect import insert_ignore
from nanobot.store.database.results import as_struct
from nanobot.store.journal import log, runs
from nanobot.store.verbs import SqlStore, bare_verb
from nanobot.text import title_of

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
_UNREAD = sa.and_(
    sa.or_(_s.c.last_read_at.is_(None), _s.c.updated_at > _s.c.last_read_at),
    sa.not_(_HEARD),
    _s.c.key.not_in(SILENT),
)
_PINNED = sa.func.coalesce(_m.c.pinned, sa.false())
_ARCHIVED = sa.and_(_m.c.archived_at.is_not(None), _m.c.archived_at == _s.c.updated_at)
_SESSIONS = sa.select(
    _s,
    _UNREAD.label("has_unread"),
    _s.c.head_seq.label("entries"),
    _PINNED.label("pinned"),
    sa.func.coalesce(_ARCHIVED, sa.false()).label("archived"),
).outerjoin(_m, _m.c.session_key == _s.c.key)

_NEWEST = (_s.c.updated_at.desc(), _s.c.key)

_LOOKED_THROUGH = 10_000
"""A search for words reads this many of the latest sessions."""
_LOOKED_AT = 1_000
_MOST_NAMED = 1_000
_AT_ONCE = 50
"""Sessions that one transaction reads completely."""


def names(
    connection: sa.Connection, which: Filter, wanted: Sequence[str], limit: int, skip: int
) -> list[str]:
    """The sessions that match a filter, the newest first; of those in `wanted` that contain the
    words.
    """
    return _names(connection, which, wanted, _NEWEST, limit, skip)


def listed_names(
    connection: sa.Connection, which: Filter, wanted: Sequence[str], limit: int, skip: int
) -> list[str]:
    """Like `names`, pinned sessions first."""
    return _names(connection, which, wanted, (_PINNED.desc(), *_NEWEST), limit, skip)


def _names(
    connection: sa.Connection,
    which: Filter,
    wanted: Sequence[str],
    order: Sequence[sa.ColumnElement[Any]],
    limit: int,
    skip: int,
) -> list[str]:
    # Read the keys alone first: the rest of a session costs queries of other tables.
    named = sa.select(_s.c.key).outerjoin(_m, _m.c.session_key == _s.c.key)
    named = named.order_by(*order).limit(limit).offset(skip)
    if which.unread:
        named = named.where(_UNREAD)
    if not which.once:
        named = named.where(_s.c.key.not_like(ONE_SHOTS))
    if which.archived is not None:
        hidden = sa.func.coalesce(_ARCHIVED, sa.false())
        named = named.where(hidden if which.archived else sa.not_(hidden))
    if which.keys is not None:
        named = named.where(_s.c.key.in_(which.keys))
    if which.find:
        named = named.where(_s.c.key.in_(wanted))
    return list(connection.scalars(named))


def with_words(connection: sa.Connection, words: str, skip: int) -> tuple[list[str], int | None]:
    """Which of some sessions contain the words in name or title, the newest first, and how many to
    skip next, None at the end.
    """
    query = sa.select(_s.c.key, _s.c.title).order_by(*_NEWEST).limit(_LOOKED_AT).offset(skip)
    some = query.subquery()
    fits = [column.icontains(words, autoescape=True) for column in (some.c.key, some.c.title)]
    found = list(connection.scalars(sa.select(some.c.key).where(sa.or_(*fits))))
    following = skip + _LOOKED_AT
    reached = connection.scalar(sa.select(_s.c.key).order_by(*_NEWEST).limit(1).offset(following))
    return found, None if reached is None or following >= _LOOKED_THROUGH else following


def of_keys(connection: sa.Connection, keys: Sequence[str]) -> list[SessionView]:
    """The ones of these sessions that exist, in this order."""
    rows = {row.key: row for row in connection.execute(_SESSIONS.where(_s.c.key.in_(keys)))}
    return [_as_session(connection, rows[key]) for key in keys if key in rows]


class SessionLists(SqlStore):
    """Lists of sessions, read in short transactions."""

    _names = bare_verb(names)
    _listed_names = bare_verb(listed_names)
    _with_words = bare_verb(with_words)
    _of_keys = bare_verb(of_keys)

    async def newest(self, which: Filter, limit: int, skip: int) -> list[SessionView]:
        """See Records.sessions."""
        wanted = await self._wanted(which, ())
        return await self._whole(await self._names(which, wanted, limit, skip))

    async def listed(
        self, which: Filter, saying: Sequence[str], limit: int, skip: int
    ) -> list[SessionView]:
        """See Conversations.listed. `saying`: the sessions that contain the words."""
        wanted = await self._wanted(which, saying)
        return await self._whole(await self._listed_names(which, wanted, limit, skip))

    async def _wanted(self, which: Filter, saying: Sequence[str]) -> list[str]:
        wanted = dict.fromkeys(saying)
        skip: int | None = 0 if which.find else None
        while skip is not None and len(wanted) < _MOST_NAMED:
            found, skip = await self._with_words(which.find, skip)
            wanted |= dict.fromkeys(found)
        return list(wanted)

    async def _whole(self, names: Sequence[str]) -> list[SessionView]:
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


def rename(connection: sa.Connection, key: str, title: str) -> bool:
    """See Conversations.rename."""
    by = "person" if title else ""
    if not title:
        title = _first_words(connection, key)
    return _mark(connection, key, title_by=by) and _set_title(connection, key, title)


def pin(connection: sa.Connection, key: str, *, pinned: bool) -> bool:
    """See Conversations.pin."""
    return _mark(connection, key, pinned=pinned)


def archive(connection: sa.Connection, key: str, *, archived: bool) -> bool:
    """See Conversations.archive."""
    log.HEAD.execute(connection, k=key)  # locked: no message can arrive meanwhile
    at = connection.scalar(sa.select(_s.c.updated_at).where(_s.c.key == key))
    return at is not None and _mark(connection, key, archived_at=at if archived else None)


def _first_words(connection: sa.Connection, key: str) -> str:
    """The default title of a session."""
    first = next(iter(log.read(connection, key, 1, 2)), None)
    return title_of(getattr(first.body, "text", "")) if first is not None else ""


def _mark(connection: sa.Connection, key: str, **values: object) -> bool:
    """Returns False if there is no such session."""
    if not log.exists(connection, key):
        return False
    insert_ignore(connection, _m, {"session_key": key})
    connection.execute(sa.update(_m).where(_m.c.session_key == key).values(**values))
    return True


def _set_title(connection: sa.Connection, key: str, title: str) -> bool:
    changed = sa.update(_s).where(_s.c.key == key).values(title=title)
    return bool(connection.execute(changed).rowcount)
