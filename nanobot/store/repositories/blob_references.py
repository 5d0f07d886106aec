"""Which files are named by rows, and which are named by none."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import sqlalchemy as sa

from nanobot.messages import WEB
from nanobot.store.database import schema
from nanobot.text import pattern

_NAMED = pattern(rb'"blob":"([0-9a-f]{64})"')
_HOLDERS = (
    schema.entries.c.payload,
    schema.inbound.c.body,
    schema.outbound.c.body,
    schema.outbound_parts.c.file,
)
_ROWS = 1_000


class Place(NamedTuple):
    """The position of a search: the column, and the key of its last row."""

    holder: int = 0
    after: tuple[Any, ...] | None = None


def named(payloads: Iterable[bytes | None]) -> set[str]:
    """The digests that some of these rows name."""
    return {digest.decode() for data in payloads if data for digest in _NAMED.findall(data)}


def search(connection: sa.Connection, place: Place) -> tuple[set[str], Place | None]:
    """The digests that the next rows name, and where to continue; None at the end."""
    column = _HOLDERS[place.holder]
    key = list(column.table.primary_key)
    query = sa.select(*key, _with_a_blob(connection, column)).order_by(*key).limit(_ROWS)
    if place.after is not None:
        query = query.where(sa.tuple_(*key) > sa.tuple_(*place.after))
    rows = connection.execute(query).all()
    if len(rows) == _ROWS:
        following: Place | None = Place(place.holder, tuple(rows[-1][:-1]))
    else:
        following = Place(place.holder + 1) if place.holder + 1 < len(_HOLDERS) else None
    return named(row[-1] for row in rows), following


def is_named(
    connection: sa.Connection, key: str, chat: str, digest: str, place: Place
) -> tuple[bool, Place | None]:
    """Whether the next entries of a session's log, or the next messages of its page chat, name a
    file, and where to continue; None at the end. See Conversations.names_file.
    """
    _e, _o = schema.entries, schema.outbound
    name = f'"blob":"{digest}"'.encode()
    if place.holder == 0:
        number, column, there = _e.c.seq, _e.c.payload, _e.c.session_key == key
    else:
        number, column = _o.c.id, _o.c.body
        there = sa.and_(_o.c.channel == WEB, _o.c.chat_id == chat, schema.OUTBOUND_FOR_CHAT)
    (after,) = place.after or (0,)
    holds = sa.case((_contains(connection, column, name), 1), else_=0)
    some = sa.select(number.label("n"), holds.label("named"))
    rows = some.where(there, number > after).order_by(number).limit(_ROWS).subquery()
    read = sa.select(sa.func.count(), sa.func.max(rows.c.n), sa.func.max(rows.c.named))
    count, last, named = connection.execute(read).one()
    if count == _ROWS:
        return bool(named), Place(place.holder, (last,))
    return bool(named), Place(1) if place.holder == 0 else None


def _contains(
    connection: sa.Connection, column: sa.Column[Any], sought: bytes
) -> sa.ColumnElement[bool]:
    literal = sa.literal(sought, sa.LargeBinary)
    sqlite = connection.dialect.name == "sqlite"
    at = sa.func.instr(column, literal) if sqlite else sa.func.position(literal.op("IN")(column))
    return at > 0


def _with_a_blob(
    connection: sa.Connection, column: sa.Column[Any]
) -> sa.ColumnElement[bytes | None]:
    """The column if it names a file, otherwise empty."""
    return sa.case((_contains(connection, column, b'"blob":"'), column), else_=None)
