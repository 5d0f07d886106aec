"""Sessions as people see them: listed, named, pinned, archived."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from nanobot.memory.conversations import Filter
from nanobot.session.views import SessionView
from nanobot.store.database import schema
from nanobot.store.database.dialect import insert_ignore
from nanobot.store.database.results import as_struct
from nanobot.store.journal import log, runs
from nanobot.store.repositories.one_shots import PATTERN
from nanobot.store.search.log_words import SILENT
from nanobot.text import title_of

_s = schema.sessions
_m = schema.session_marks
_r = schema.runs

# The session of a run that reports elsewhere is not for reading, nor are heartbeats and the runs of
# the gateway's start and stop.
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
"""Of the latest so many sessions those are listed that have some words in them."""


def newest(
    connection: sa.Connection,
    *,
    limit: int,
    unread: bool,
    find: str = "",
    once: bool = True,
    skip: int = 0,
) -> list[SessionView]:
    """See Records.sessions."""
    which = Filter(unread=unread, find=find, once=once, archived=None)
    return _rows(connection, which, (), _NEWEST, limit, skip)


def listed(
    connection: sa.Connection, which: Filter, saying: Sequence[str], limit: int, skip: int
) -> list[SessionView]:
    """See Conversations.listed. `saying`: the sessions in which the words were said."""
    return _rows(connection, which, saying, (_PINNED.desc(), *_NEWEST), limit, skip)


def _rows(
    connection: sa.Connection,
    which: Filter,
    saying: Sequence[str],
    order: Sequence[sa.ColumnElement[Any]],
    limit: int,
    skip: int,
) -> list[SessionView]:
    # The keys alone first: the rest of a session costs a look at other tables.
    named = sa.select(_s.c.key).outerjoin(_m, _m.c.session_key == _s.c.key)
    named = named.order_by(*order).limit(limit).offset(skip)
    if which.unread:
        named = named.where(_UNREAD)
    if not which.once:
        named = named.where(_s.c.key.not_like(PATTERN))
    if which.archived is not None:
        hidden = sa.func.coalesce(_ARCHIVED, sa.false())
        named = named.where(hidden if which.archived else sa.not_(hidden))
    if which.keys is not None:
        named = named.where(_s.c.key.in_(which.keys))
    if which.find:
        latest = sa.select(_s.c.key).order_by(*_NEWEST).limit(_LOOKED_THROUGH)
        fits = [column.icontains(which.find, autoescape=True) for column in (_s.c.key, _s.c.title)]
        by_name = sa.and_(_s.c.key.in_(latest), sa.or_(*fits))
        named = named.where(sa.or_(by_name, _s.c.key.in_(saying)))
    rows = connection.execute(_SESSIONS.where(_s.c.key.in_(named)).order_by(*order)).all()
    return [_as_session(connection, row) for row in rows]


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
    log.HEAD.execute(connection, k=key)  # locked: nothing is said meanwhile
    at = connection.scalar(sa.select(_s.c.updated_at).where(_s.c.key == key))
    return at is not None and _mark(connection, key, archived_at=at if archived else None)


def _first_words(connection: sa.Connection, key: str) -> str:
    """The title that a session has by itself."""
    first = next(iter(log.read(connection, key, 1, 2)), None)
    return title_of(getattr(first.body, "text", "")) if first is not None else ""


def _mark(connection: sa.Connection, key: str, **values: object) -> bool:
    """False: there is no such session."""
    if not log.exists(connection, key):
        return False
    insert_ignore(connection, _m, {"session_key": key})
    connection.execute(sa.update(_m).where(_m.c.session_key == key).values(**values))
    return True


def _set_title(connection: sa.Connection, key: str, title: str) -> bool:
    changed = sa.update(_s).where(_s.c.key == key).values(title=title)
    return bool(connection.execute(changed).rowcount)
