"""Copies the rows of one table into a table of another database, in batches."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import sqlalchemy as sa

from nanobot.errors import RowUnreadable, StoreCorrupt
from nanobot.store.database.connection import Connection

_ROWS = 200
_MODULUS = 2**128


class Content:
    """The number of rows of a table, and a sum over their contents that does not depend on their
    order.
    """

    def __init__(self) -> None:
        self.rows = self.total = 0

    def add(self, values: list[Any]) -> None:
        self.rows += 1
        # PostgreSQL's text cannot contain zero bytes.
        plain = [v.replace("\0", "") if isinstance(v, str) else v for v in values]
        data = msgspec.json.encode(plain, enc_hook=bytes)
        digest = hashlib.blake2b(data, digest_size=16).digest()
        self.total = (self.total + int.from_bytes(digest, "big")) % _MODULUS

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Content) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]


def copy_rows(source: Connection, target: Connection, here: sa.Table, there: sa.Table) -> Content:
    """Copy all rows; returns what they contain. Raises StoreCorrupt if one cannot be read."""
    content, batch = Content(), list[dict[str, Any]]()
    insert = sa.insert(there)
    for row in _rows(source, here, list(here.columns)):
        content.add(list(row))
        batch.append(dict(row._mapping))  # noqa: SLF001 - its public name is this
        if len(batch) == _ROWS:
            target.execute(insert, batch)
            batch = []
    if batch:
        target.execute(insert, batch)
    return content


def content_of(connection: Connection, table: sa.Table, columns: Sequence[str] = ()) -> Content:
    """What the rows of a table contain, in these columns (none given: in all)."""
    content = Content()
    names = columns or [column.name for column in table.columns]
    for row in _rows(connection, table, [table.c[name] for name in names]):
        content.add(list(row))
    return content


def _rows(
    connection: Connection, table: sa.Table, columns: Sequence[sa.Column[Any]]
) -> Iterator[sa.Row[*tuple[Any, ...]]]:
    query = sa.select(*columns).order_by(*table.primary_key)
    with connection.execute(query.execution_options(yield_per=_ROWS)) as rows:
        try:
            yield from rows
        except RowUnreadable as error:
            raise StoreCorrupt(
                f"a row of the table {table.name} cannot be read ({error}): start nanobot once, "
                "which puts it aside (`nanobot db quarantine list`), and try again"
            ) from error
