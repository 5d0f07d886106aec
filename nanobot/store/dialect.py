"""The few places where SQLite and PostgreSQL spell things differently."""

from __future__ import annotations

from functools import cache

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite


@cache
def _insert_ignore(dialect: str, table: sa.Table) -> sa.Executable:
    if dialect == "postgresql":
        return postgresql.insert(table).on_conflict_do_nothing()
    return sqlite.insert(table).on_conflict_do_nothing()


def insert_ignore(connection: sa.Connection, table: sa.Table) -> sa.Executable:
    """An INSERT that does nothing where the row exists already."""
    return _insert_ignore(connection.dialect.name, table)
