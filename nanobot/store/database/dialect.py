"""The few places where SQLite and PostgreSQL spell things differently."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from nanobot.store.database.pipeline import PIPELINE
from nanobot.store.database.prepared import Prepared, Values

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql

# Locks belong to the whole database, stores to one of its schemas.
_PLACE = "CASE current_schema() WHEN 'public' THEN '' ELSE current_schema() || ':' END || :n"
_ALONE = Prepared(sa.text(f"SELECT pg_advisory_xact_lock(hashtext({_PLACE}))"))
_TOGETHER = Prepared(sa.text(f"SELECT pg_advisory_xact_lock_shared(hashtext({_PLACE}))"))
_ONE_SNAPSHOT = sa.text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")


def alone(connection: sa.Connection, name: str) -> None:
    """Wait until no other transaction is in this place; SQLite never has another."""
    if connection.dialect.name == "postgresql":
        _ALONE.execute(connection, n=name)


def together(connection: sa.Connection, name: str) -> None:
    """Wait until nobody is `alone` in this place; who wants to be waits for this transaction."""
    if connection.dialect.name == "postgresql":
        _TOGETHER.execute(connection, n=name)


def one_snapshot(connection: sa.Connection) -> None:
    """All reads of this transaction see one state; to be called before any of them.

    SQLite's always do. PostgreSQL's see what was committed before each statement, so that what
    moves from one table to another between two reads is in neither.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(_ONE_SNAPSHOT)


def nothing_follows(connection: sa.Connection) -> None:
    """Nothing is changed in this transaction any more: PostgreSQL's ends on the way of what was
    executed last, whose result may be looked at afterwards."""
    if connection.dialect.name == "postgresql":
        connection.info[PIPELINE].end()


class _ServerClock(FunctionElement[float]):
    inherit_cache = True
    type = sa.Double()


@compiles(_ServerClock)
def _no_clock(_element: _ServerClock, _compiler: object, **_: Any) -> str:
    return "NULL"


@compiles(_ServerClock, "postgresql")
def _clock(_element: _ServerClock, _compiler: object, **_: Any) -> str:
    return "CAST(extract(epoch FROM clock_timestamp()) AS double precision)"


SERVER_CLOCK = _ServerClock().label("now")
"""The time by PostgreSQL's clock; NULL on SQLite."""


@cache
def _insert_or_set(dialect: str, table: sa.Table, column: str) -> Prepared:
    once = insert(dialect, table)
    key = table.primary_key.columns.values()
    return Prepared(
        once.on_conflict_do_update(index_elements=key, set_={column: once.excluded[column]})
    )


def insert_or_set(connection: sa.Connection, table: sa.Table, column: str, values: Values) -> None:
    """Insert a row, or set that column of the row that is there."""
    _insert_or_set(connection.dialect.name, table, column).execute(connection, values)


def insert(dialect: str, table: sa.Table) -> sqlite.Insert | postgresql.Insert:
    """An INSERT that may say what is done ON CONFLICT."""
    if dialect != "postgresql":
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql  # noqa: PLC0415 - 2 MB, for nothing with SQLite

    return postgresql.insert(table)


@cache
def _insert_ignore(
    dialect: str, table: sa.Table, returned: sa.Column[Any] | None = None
) -> Prepared:
    once = insert(dialect, table).on_conflict_do_nothing()
    return Prepared(once if returned is None else once.returning(returned))


def insert_ignore(
    connection: sa.Connection,
    table: sa.Table,
    values: Values,
    returned: sa.Column[Any] | None = None,
) -> Any:
    """Insert a row, or do nothing where it exists already; the column `returned` of the row that
    was made."""
    once = _insert_ignore(connection.dialect.name, table, returned)
    return once.execute(connection, values) if returned is None else once.scalar(connection, values)


@cache
def _insert_or_turn(dialect: str, table: sa.Table, only: sa.TextClause) -> Prepared:
    once = insert(dialect, table)
    return Prepared(
        once.on_conflict_do_update(
            index_elements=["key"],
            set_={
                name: once.excluded[name] for name in ("body", "state", "created_at", "settled_at")
            },
            where=only,
        )
    )


def insert_or_turn(
    connection: sa.Connection, table: sa.Table, only: sa.TextClause, values: Values
) -> None:
    """Insert a row into the outbox, or turn the row of the same key into it if it is one of those,
    or else do nothing."""
    _insert_or_turn(connection.dialect.name, table, only).execute(connection, values)
