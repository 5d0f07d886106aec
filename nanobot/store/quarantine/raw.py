"""Rows as the database stores them, whatever their columns contain."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.database.strict_types import RowCheck

Kind: TypeAlias = Literal["null", "integer", "real", "text", "blob"]
"""The storage class of a value, in SQLite's terms."""


class Raw(msgspec.Struct, frozen=True, array_like=True):
    """A value. `data`: a number in digits, text as UTF-8 (valid or not), or bytes."""

    kind: Kind
    data: bytes = b""

    def shown(self) -> str:
        """For people."""
        if self.kind == "null":
            return "(empty)"
        if self.kind == "blob" and not self.data.isascii():
            return f"{len(self.data)} bytes"
        return self.data.decode("utf-8", "backslashreplace")


RawRow: TypeAlias = Mapping[str, Raw]


class KeptRow(msgspec.Struct, frozen=True):
    """A row and its table."""

    table: str
    columns: dict[str, Raw]


def columns_of(table: sa.Table) -> list[str]:
    """Its column names."""
    return [str(column.name) for column in table.columns]


def key_of(table: sa.Table, row: RawRow) -> dict[str, Raw]:
    """The row's primary key."""
    return place_of(table.primary_key, row)


def place_of(order: Iterable[sa.Column[Any]], row: RawRow) -> dict[str, Raw]:
    """The row's values of these columns."""
    return {str(column.name): row[column.name] for column in order}


def shown_key(key: Mapping[str, Raw]) -> str:
    """A key as text, for people and for lists."""
    return " ".join(value.shown() for value in key.values())


def where(connection: Connection, values: Mapping[str, Raw]) -> sa.ColumnElement[bool]:
    """The rows with exactly these values."""
    literal = FORMS[connection.dialect.name].literal
    each = (
        f'"{name}" IS NULL' if raw.kind == "null" else f'"{name}" = {literal(raw)}'
        for name, raw in values.items()
    )
    return sa.literal_column(f"({' AND '.join(each)})", sa.Boolean)


def read(
    connection: Connection,
    table: sa.Table,
    *conditions: sa.ColumnElement[bool] | sa.TextClause,
    order: Sequence[sa.Column[Any]] = (),
    after: Mapping[str, Raw] | None = None,
    limit: int = -1,
) -> list[RawRow]:
    """Rows in the order of these columns, or of their keys, starting after the place `after`."""
    names = columns_of(table)
    value = FORMS[connection.dialect.name].value
    columns = [column for name in names for column in value(table, name)]
    query = _ordered(connection, table, columns, conditions, order, after, limit)
    found = connection.execute(query).all()
    return [dict(zip(names, _values(row), strict=True)) for row in found]


def read_plain(
    connection: Connection,
    table: sa.Table,
    *conditions: sa.TextClause,
    order: Sequence[sa.Column[Any]] = (),
    after: Mapping[str, Raw] | None = None,
    limit: int = -1,
) -> Sequence[Sequence[Any]]:
    """Like `read`, but with the ordinary type checks, which is much faster. Raises RowUnreadable,
    and DBAPIError.
    """
    if connection.dialect.name == "sqlite":
        return _read_plain_sqlite(connection, table, conditions, order, after, limit)
    query = _ordered(connection, table, list(table.columns), conditions, order, after, limit)
    return connection.execute(query).all()


def _read_plain_sqlite(
    connection: Connection,
    table: sa.Table,
    conditions: Sequence[sa.TextClause],
    order: Sequence[sa.Column[Any]],
    after: Mapping[str, Raw] | None,
    limit: int,
) -> Sequence[Sequence[Any]]:
    """A start reads a page of each table: to compile a statement takes longer than to run it."""
    key = ", ".join(f'"{column.name}"' for column in order or table.primary_key)
    where = [condition.text for condition in conditions]
    if after is not None:
        where.append(f"({key}) > ({', '.join(_literal(raw) for raw in after.values())})")
    columns = ", ".join(f'"{column.name}"' for column in table.columns)
    sql = f'SELECT {columns} FROM "{table.name}"'  # noqa: S608 - names of ours
    sql += f" WHERE {' AND '.join(f'({each})' for each in where)}" if where else ""
    sql += f" ORDER BY {key} LIMIT {limit}"
    driver: Any = connection.connection.dbapi_connection
    try:
        rows: list[tuple[Any, ...]] = driver.execute(sql).fetchall()
    except sqlite3.Error as error:
        raise DBAPIError(sql, None, error) from error
    RowCheck([column.type for column in table.columns]).all(rows)
    return rows


def plain_place(
    table: sa.Table, order: Iterable[sa.Column[Any]], row: Sequence[Any]
) -> dict[str, Raw]:
    """`place_of` a row of `read_plain`."""
    values = dict(zip(columns_of(table), row, strict=True))
    kinds: dict[type, Kind] = {int: "integer", float: "real", str: "text", bytes: "blob"}
    return {
        str(column.name): _raw(kinds[type(values[column.name])], _as_bytes(values[column.name]))
        for column in order
    }


def _as_bytes(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


def _ordered(  # noqa: PLR0913 - the parts of a query
    connection: Connection,
    table: sa.Table,
    columns: Sequence[Any],
    conditions: Sequence[sa.ColumnElement[bool] | sa.TextClause],
    order: Sequence[sa.Column[Any]],
    after: Mapping[str, Raw] | None,
    limit: int,
) -> sa.Select[Any]:
    key = [f'"{table.name}"."{column.name}"' for column in order or table.primary_key]
    query = sa.select(*columns).select_from(table).where(*conditions)
    query = query.order_by(*(sa.literal_column(name) for name in key))
    if after is not None:
        literal = FORMS[connection.dialect.name].literal
        behind = ", ".join(map(literal, after.values()))
        query = query.where(sa.literal_column(f"({', '.join(key)}) > ({behind})", sa.Boolean))
    return query if limit < 0 else query.limit(limit)


def encode(rows: Sequence[KeptRow]) -> bytes:
    """The stored form; bytes in base64."""
    return msgspec.json.encode(rows)


def _values(row: Sequence[Any]) -> Iterator[Raw]:
    for kind, value in zip(row[::2], row[1::2], strict=True):
        yield _raw(kind, value)


def _raw(kind: Any, value: Any) -> Raw:
    if value is None:
        return Raw("null")
    if isinstance(value, bytes | memoryview):
        return Raw("text" if kind == "text" else "blob", bytes(value))
    return Raw(kind, str(value).encode())


def _value(table: sa.Table, name: str) -> tuple[Any, Any]:
    at = f'"{table.name}"."{name}"'
    value = f"CASE typeof({at}) WHEN 'text' THEN CAST({at} AS BLOB) ELSE {at} END"
    return sa.literal_column(f"typeof({at})"), sa.literal_column(value)


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
    """How a database gives the stored kind and value of a column, and takes a value as SQL."""

    value: Callable[[sa.Table, str], tuple[Any, Any]]
    literal: Callable[[Raw], str]


FORMS = {"sqlite": Form(_value, _literal)}
"""By dialect; the plugin of a database adds its own."""


def table_of(name: str) -> sa.Table | None:
    """The table of that name; None: there is none."""
    return schema.metadata().tables.get(name)
