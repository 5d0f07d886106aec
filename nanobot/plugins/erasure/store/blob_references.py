"""Which files are named by rows, and which are named by none."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from nanobot.plugins.common.store.named_files import Place, contains
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.text import pattern

_NAMED = pattern(rb'"blob":"([0-9a-f]{64})"')
_HOLDERS = (
    schema.entries.c.payload,
    schema.inbound.c.body,
    schema.outbound.c.body,
    schema.outbound_parts.c.file,
)
_ROWS = 1_000


def named(payloads: Iterable[bytes | None]) -> set[str]:
    """The digests that some of these rows name."""
    return {digest.decode() for data in payloads if data for digest in _NAMED.findall(data)}


def search(connection: Connection, place: Place) -> tuple[set[str], Place | None]:
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


def _with_a_blob(connection: Connection, column: sa.Column[Any]) -> sa.ColumnElement[bytes | None]:
    """The column if it names a file, otherwise empty."""
    return sa.case((contains(connection, column, b'"blob":"'), column), else_=None)
