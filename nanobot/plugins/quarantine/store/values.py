"""Values of rows in quarantine: shown, replaced, and written back as they were."""

from __future__ import annotations

from typing import Any

import msgspec
import sqlalchemy as sa

from nanobot.store.database.connection import Connection
from nanobot.store.quarantine.raw import KeptRow, Raw, RawRow


def decode(content: bytes) -> list[KeptRow]:
    """The rows that are kept in one. Raises msgspec.DecodeError."""
    return msgspec.json.decode(content, type=list[KeptRow])


def shown(row: KeptRow) -> dict[str, str]:
    """A row formatted for people."""
    return {name: raw.shown() for name, raw in row.columns.items()}


def insert(connection: Connection, table: sa.Table, row: RawRow) -> None:
    """Insert a row into its table."""
    if connection.dialect.name != "sqlite":
        values = {name: _python(table.c[name], raw) for name, raw in row.items()}
        connection.execute(sa.insert(table).values(values))
        return
    places = ", ".join("CAST(? AS TEXT)" if raw.kind == "text" else "?" for raw in row.values())
    names = ", ".join(f'"{name}"' for name in row)
    sql = f'INSERT INTO "{table.name}" ({names}) VALUES ({places})'  # noqa: S608 - names of ours
    connection.exec_driver_sql(sql, tuple(_bound(raw) for raw in row.values())).close()


def typed(column: sa.Column[Any], text: str) -> Raw:
    """A value that a person enters for a column."""
    if isinstance(column.type, sa.LargeBinary):
        return Raw("blob", text.encode())
    if isinstance(column.type, sa.Boolean):
        return Raw("integer", b"1" if text.lower() in {"1", "true", "yes"} else b"0")
    if isinstance(column.type, sa.Integer):
        return Raw("integer", str(int(text)).encode())
    if isinstance(column.type, sa.Float):
        return Raw("real", repr(float(text)).encode())
    return Raw("text", text.encode())


def _bound(raw: Raw) -> Any:
    return raw.data if raw.kind == "text" else raw.value


def _python(column: sa.Column[Any], raw: Raw) -> Any:
    if raw.kind == "text":
        return raw.data.decode("utf-8", "replace")
    value = _bound(raw)
    return bool(value) if isinstance(column.type, sa.Boolean) and value is not None else value
