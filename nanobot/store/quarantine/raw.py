"""Rows as the database stores them, whatever their columns contain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec
import sqlalchemy as sa

from nanobot.store.database.connection import Connection
from nanobot.store.database.strict_types import RowCheck

Kind: TypeAlias = Literal["null", "integer", "real", "text", "blob"]
"""The storage class of a value, in SQLite's terms."""


class Raw(msgspec.Struct, frozen=True, array_like=True):
    """A value. `data`: a number in digits, text as UTF-8 (valid or not), or bytes."""

    kind: Kind
    data: bytes = b""

    @property
    def value(self) -> Any:
        """As a driver gives it. Raises UnicodeDecodeError."""
        read: dict[Kind, Callable[[bytes], Any]] = {"integer": int, "real": float, "blob": bytes}
        return None if self.kind == "null" else read.get(self.kind, bytes.decode)(self.data)

    def shown(self) -> str:
        """For people."""
        if self.kind == "null":
            return "(empty)"
        if self.kind == "blob" and not self.data.isascii():
            return f"{len(self.data)} bytes"
        return self.data.decode("utf-8", "backslashreplace")


RawRow: TypeAlias = Mapping[str, Raw]
Condition: TypeAlias = sa.TextClause | sa.ColumnClause[bool]
"""One of the tables, or what `where` returns."""


class KeptRow(msgspec.Struct, frozen=True):
    """A row and its table."""

    table: str
    columns: dict[str, Raw]


def key_of(table: sa.Table, row: RawRow) -> dict[str, Raw]:
    """The row's primary key."""
    return place_of(table.primary_key, row)


def place_of(order: Iterable[sa.Column[Any]], row: RawRow) -> dict[str, Raw]:
    """The row's values of these columns."""
    return {str(column.name): row[column.name] for column in order}


def shown_key(key: RawRow) -> str:
    """A key as text, for people and for lists."""
    return " ".join(value.shown() for value in key.values())


def where(connection: Connection, values: RawRow) -> sa.ColumnClause[bool]:
    """The rows with exactly these values."""
    literal = FORMS[connection.dialect.name].literal
    each = (
        f'"{name}" IS NULL' if raw.kind == "null" else f'"{name}" = {literal(raw)}'
        for name, raw in values.items()
    )
    return sa.literal_column(f"({' AND '.join(each)})", sa.Boolean)


class Page(msgspec.Struct, frozen=True):
    """Rows of a table for which these conditions hold, in the order of these columns (or of their
    keys), from after a place on."""

    table: sa.Table
    conditions: tuple[Condition, ...] = ()
    order: Sequence[sa.Column[Any]] = ()
    after: RawRow | None = None
    limit: int = -1


def read(connection: Connection, page: Page) -> list[RawRow]:
    """The rows of a page."""
    names = page.table.columns.keys()
    value = FORMS[connection.dialect.name].value
    found = _selected(connection, page, [value(page.table, name) for name in names])
    return [dict(zip(names, _values(row), strict=True)) for row in found]


def read_plain(connection: Connection, page: Page) -> Sequence[sa.Row[Any]]:
    """Like `read`, but with the ordinary type checks, which is much faster. Raises RowUnreadable,
    and DBAPIError.
    """
    columns = page.table.columns
    rows = _selected(connection, page, [f'"{column.name}"' for column in columns])
    if connection.dialect.name == "sqlite":
        RowCheck([column.type for column in columns]).all(rows)
    return rows


def plain_place(order: Iterable[sa.Column[Any]], row: sa.Row[Any]) -> dict[str, Raw]:
    """`place_of` a row of `read_plain`."""
    return {str(column.name): of(row._mapping[column.name]) for column in order}  # noqa: SLF001


def of(value: object) -> Raw:
    """A value of a key, as the driver gives it."""
    kinds: dict[type, Kind] = {int: "integer", float: "real", str: "text", bytes: "blob"}
    kind = kinds[type(value)]
    return _raw(kind, value.encode() if isinstance(value, str) else value)


def _selected(connection: Connection, page: Page, columns: Sequence[str]) -> Sequence[sa.Row[Any]]:
    """A start reads a page of each table: to compile a statement takes longer than to run it."""
    name, order = page.table.name, page.order or page.table.primary_key
    key = ", ".join(f'"{name}"."{column.name}"' for column in order)
    where = [
        each.text if isinstance(each, sa.TextClause) else each.name for each in page.conditions
    ]
    if page.after is not None:
        literal = FORMS[connection.dialect.name].literal
        where.append(f"({key}) > ({', '.join(map(literal, page.after.values()))})")
    sql = f'SELECT {", ".join(columns)} FROM "{name}"'  # noqa: S608 - names of ours
    sql += f" WHERE {' AND '.join(f'({each})' for each in where)}" if where else ""
    sql += f" ORDER BY {key}" + (f" LIMIT {page.limit}" if page.limit >= 0 else "")
    if connection.dialect.paramstyle == "pyformat":
        sql = sql.replace("%", "%%")
    return connection.exec_driver_sql(sql).all()


def _values(row: Sequence[Any]) -> Iterator[Raw]:
    for kind, value in zip(row[::2], row[1::2], strict=True):
        yield _raw(kind, value)


def _raw(kind: Any, value: Any) -> Raw:
    if value is None:
        return Raw("null")
    if isinstance(value, bytes | memoryview):
        return Raw("text" if kind == "text" else "blob", bytes(value))
    return Raw(kind, str(value).encode())


def _value(table: sa.Table, name: str) -> str:
    at = f'"{table.name}"."{name}"'
    return f"typeof({at}), CASE typeof({at}) WHEN 'text' THEN CAST({at} AS BLOB) ELSE {at} END"


def _literal(raw: Raw) -> str:
    if raw.kind == "text":
        return f"CAST(x'{raw.data.hex()}' AS TEXT)"
    if raw.kind == "blob":
        return f"x'{raw.data.hex()}'"
    if raw.kind == "null":
        return "NULL"
    infinite = {b"inf": "9e999", b"-inf": "-9e999"}
    return infinite.get(raw.data) or repr(float(raw.data) if raw.kind == "real" else int(raw.data))


class Form(NamedTuple):
    """How a database gives the stored kind and value of a column, and takes a value, as SQL."""

    value: Callable[[sa.Table, str], str]
    literal: Callable[[Raw], str]


FORMS = {"sqlite": Form(_value, _literal)}
"""By dialect; the plugin of a database adds its own."""
