"""Conversations as people list, name, pin and archive them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import sqlalchemy as sa

from nanobot.messages import TERMINAL, OutboundKind, OutboundMessage
from nanobot.plugins.common.message_search import MessageSearch
from nanobot.plugins.common.store import search_tables
from nanobot.plugins.common.store.outbox import drop
from nanobot.plugins.common.store.session_lists import NEWEST, SessionLists
from nanobot.plugins.common.store.session_views import (
    ARCHIVED,
    ONE_SHOTS,
    PINNED,
    UNREAD,
)
from nanobot.plugins.common.views.views import SessionView
from nanobot.plugins.conversations.lists import Filter
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.database.dialect import insert_ignore
from nanobot.store.journal import log
from nanobot.store.unit import Unit
from nanobot.store.verbs import transaction
from nanobot.text import title_of

_s = schema.sessions
_m = search_tables.session_marks
_e = schema.entries
_o = schema.outbound

_READ_SO_FAR = sa.select(_s.c.head_seq, _s.c.updated_at, _s.c.last_read_at).where(
    _s.c.key == sa.bindparam("k")
)
_SAID_AT = sa.select(_e.c.at).where(
    _e.c.session_key == sa.bindparam("k"), _e.c.seq == sa.bindparam("n")
)

_LOOKED_THROUGH = 10_000
"""A search for words reads this many of the latest sessions."""
_LOOKED_AT = 1_000
_MOST_NAMED = 1_000


class SqlConversationList(SessionLists):
    """See lists.ConversationList: the same for SQLite and PostgreSQL."""

    async def listed(
        self, which: Filter, messages: MessageSearch | None = None, *, limit: int, skip: int = 0
    ) -> list[SessionView]:
        found: Mapping[str, str] = {}
        if which.find and messages is not None:
            found = await messages.saying(which.find, keys=which.keys)
        wanted = await self._wanted(which.find, tuple(found)) if which.find else []
        return [
            msgspec.structs.replace(row, found=found[row.key]) if row.key in found else row
            for row in await self.whole(await self._listed_names(which, wanted, limit, skip))
        ]

    async def _wanted(self, find: str, saying: Sequence[str]) -> list[str]:
        """The sessions that are `saying` these words, and those with them in name or title."""
        wanted = dict.fromkeys(saying)
        skip: int | None = 0
        while skip is not None and len(wanted) < _MOST_NAMED:
            found, skip = await self._with_words(find, skip)
            wanted |= dict.fromkeys(found)
        return list(wanted)

    @transaction()
    def _listed_names(
        self,
        connection: Connection,
        which: Filter,
        wanted: Sequence[str],
        limit: int,
        skip: int,
    ) -> list[str]:
        """The sessions that match a filter, pinned ones first; of those in `wanted` that contain
        the words.
        """
        # Read the keys alone first: the rest of a session costs queries of other tables.
        named = sa.select(_s.c.key).outerjoin(_m, _m.c.session_key == _s.c.key)
        named = named.order_by(PINNED.desc(), *NEWEST).limit(limit).offset(skip)
        if which.unread:
            named = named.where(UNREAD)
        if not which.once:
            named = named.where(_s.c.key.not_like(ONE_SHOTS))
        if which.archived is not None:
            hidden = sa.func.coalesce(ARCHIVED, sa.false())
            named = named.where(hidden if which.archived else sa.not_(hidden))
        if which.keys is not None:
            named = named.where(_s.c.key.in_(which.keys))
        if which.find:
            named = named.where(_s.c.key.in_(wanted))
        return list(connection.scalars(named))

    @transaction()
    def _with_words(
        self, connection: Connection, words: str, skip: int
    ) -> tuple[list[str], int | None]:
        """Which of some sessions contain the words in name or title, the newest first, and how many
        to skip next, None at the end.
        """
        query = sa.select(_s.c.key, _s.c.title).order_by(*NEWEST).limit(_LOOKED_AT).offset(skip)
        some = query.subquery()
        fits = [column.icontains(words, autoescape=True) for column in (some.c.key, some.c.title)]
        found = list(connection.scalars(sa.select(some.c.key).where(sa.or_(*fits))))
        following = skip + _LOOKED_AT
        next_one = sa.select(_s.c.key).order_by(*NEWEST).limit(1).offset(following)
        reached = connection.scalar(next_one)
        return found, None if reached is None or following >= _LOOKED_THROUGH else following

    @transaction("rename")
    def rename(self, connection: Connection, key: str, title: str) -> bool:
        by = "person" if title else ""
        if not title:
            title = _first_words(connection, key)
        return _mark(connection, key, title_by=by) and _set_title(connection, key, title)

    @transaction("pin")
    def pin(self, connection: Connection, key: str, *, pinned: bool) -> bool:
        return _mark(connection, key, pinned=pinned)

    @transaction("set_archived")
    def archive(self, connection: Connection, key: str, *, archived: bool) -> bool:
        log.HEAD.execute(connection, k=key)  # locked: no message can arrive meanwhile
        at = connection.scalar(sa.select(_s.c.updated_at).where(_s.c.key == key))
        return at is not None and _mark(connection, key, archived_at=at if archived else None)

    @transaction("mark_read")
    def mark_read(self, unit: Unit, key: str, entry: int | None = None) -> bool:
        session = unit.execute(_READ_SO_FAR, {"k": key}).first()
        if session is None:
            return False
        if entry is None or session.head_seq <= entry:
            for number in _unshown(unit, key):
                drop(unit, number)
            until = session.updated_at
        else:
            until = unit.scalar(_SAID_AT, {"k": key, "n": entry}) or 0.0
        if session.last_read_at is None or session.last_read_at < until:
            seen = sa.update(_s).where(_s.c.key == key).values(last_read_at=until)
            unit.execute(seen)
        return True


def _first_words(connection: Connection, key: str) -> str:
    """The default title of a session."""
    first = next(iter(log.read(connection, key, 1, 2)), None)
    return title_of(getattr(first.body, "text", "")) if first is not None else ""


def _mark(connection: Connection, key: str, **values: object) -> bool:
    """Returns False if there is no such session."""
    if not log.exists(connection, key):
        return False
    insert_ignore(connection, _m, {"session_key": key})
    connection.execute(sa.update(_m).where(_m.c.session_key == key).values(**values))
    return True


def _set_title(connection: Connection, key: str, title: str) -> bool:
    changed = sa.update(_s).where(_s.c.key == key).values(title=title)
    return bool(connection.execute(changed).rowcount)


def _unshown(connection: Connection, session_key: str) -> list[int]:
    """The messages that a session shows in a terminal as soon as one attaches, except questions."""
    waits = sa.select(_o.c.id, _o.c.body).where(
        schema.OUTBOUND_OPEN,
        _o.c.session_key == session_key,
        _o.c.channel == TERMINAL,
        _o.c.state == "pending",
    )
    messages = [
        (number, msgspec.json.decode(body, type=OutboundMessage))
        for number, body in connection.execute(waits)
    ]
    return [number for number, message in messages if message.kind is not OutboundKind.APPROVAL]
