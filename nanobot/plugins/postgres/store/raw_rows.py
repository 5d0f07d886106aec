"""Rows as PostgreSQL stores them, whatever their columns contain."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.store.quarantine.raw import FORMS, Form, Raw


def _value(table: sa.Table, name: str) -> str:
    column, at = table.c[name], f'"{table.name}"."{name}"'
    if isinstance(column.type, sa.LargeBinary):
        return f"'blob', {at}"
    if isinstance(column.type, sa.Boolean):
        return f"'integer', CAST({at} AS integer)"
    kind = "text"
    if isinstance(column.type, sa.Integer | sa.Float):
        kind = "integer" if isinstance(column.type, sa.Integer) else "real"
    return f"'{kind}', CAST({at} AS text)"


def _literal(raw: Raw) -> str:
    text = raw.data.decode("utf-8", "replace")
    match raw.kind:
        case "null":
            return "NULL"
        case "integer":
            return str(int(text))
        case "real":
            return f"CAST('{float(text)!r}' AS double precision)"
        case "text":
            return "'" + text.replace("'", "''") + "'"
        case _:
            return f"'\\x{raw.data.hex()}'::bytea"


FORMS["postgresql"] = Form(_value, _literal)
