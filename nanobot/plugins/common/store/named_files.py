"""Whether a conversation names a file."""

from __future__ import annotations

from typing import Any, NamedTuple

import sqlalchemy as sa

from nanobot.messages import WEB
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.verbs import SqlStore, verb

_ROWS = 1_000


class Place(NamedTuple):
    """The position of a search: the column, and the key of its last row."""

    holder: int = 0
    after: tuple[Any, ...] | None = None


def is_named(
    connection: Connection, key: str, chat: str, digest: str, place: Place
) -> tuple[bool, Place | None]:
    """Whether the next entries of a session's log, or the next messages of its page chat, name a
    file, and where to continue; None at the end. See NamedFiles.
    """
    _e, _o = schema.entries, schema.outbound
    name = f'"blob":"{digest}"'.encode()
    if place.holder == 0:
        number, column, there = _e.c.seq, _e.c.payload, _e.c.session_key == key
    else:
        number, column = _o.c.id, _o.c.body
        there = sa.and_(_o.c.channel == WEB, _o.c.chat_id == chat, schema.OUTBOUND_FOR_CHAT)
    (after,) = place.after or (0,)
    holds = sa.case((contains(connection, column, name), 1), else_=0)
    some = sa.select(number.label("n"), holds.label("named"))
    rows = some.where(there, number > after).order_by(number).limit(_ROWS).subquery()
    read = sa.select(sa.func.count(), sa.func.max(rows.c.n), sa.func.max(rows.c.named))
    count, last, named = connection.execute(read).one()
    if count == _ROWS:
        return bool(named), Place(place.holder, (last,))
    return bool(named), Place(1) if place.holder == 0 else None


def contains(
    connection: Connection, column: sa.Column[Any], sought: bytes
) -> sa.ColumnElement[bool]:
    """Whether a column of bytes contains these."""
    literal = sa.literal(sought, sa.LargeBinary)
    sqlite = connection.dialect.name == "sqlite"
    at = sa.func.instr(column, literal) if sqlite else sa.func.position(literal.op("IN")(column))
    return at > 0


class NamedFiles(SqlStore):
    """The files that conversations name."""

    _is_named = verb(is_named)

    async def names(self, key: str, chat: str, digest: str) -> bool:
        """Whether a session's log has a file with this digest, or its web chat was sent one."""
        place: Place | None = Place()
        while place is not None:
            found, place = await self._is_named(key, chat, digest, place)
            if found:
                return True
        return False
