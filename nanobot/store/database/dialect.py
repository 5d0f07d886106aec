"""The few places where SQLite and PostgreSQL differ in syntax or behavior."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from nanobot.store.database.prepared import PIPELINE, Prepared, Values
from nanobot.store.database.results import PreparedResult

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql

# Locks are per database, but a store occupies only one schema of it.
_PLACE = "CASE current_schema() WHEN 'public' THEN '' ELSE current_schema() || ':' END || :n"
LOCK = f"hashtext({_PLACE})"
"""The number of the lock with the name `n`."""
_ALONE = Prepared(sa.text(f"SELECT pg_advisory_xact_lock({LOCK})"))
_ONE_SNAPSHOT = sa.text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")


def alone(connection: sa.Connection, name: str) -> None:
    """Wait until no other transaction holds this lock. SQLite never has a concurrent
    transaction.
    """
    if connection.dialect.name == "postgresql":
        _ALONE.execute(connection, n=name)


def one_snapshot(connection: sa.Connection) -> None:
    """Make all reads of this transaction see one snapshot. Call it before the first read.

    SQLite always reads from a snapshot. In PostgreSQL each statement sees what was committed before
    it began, so a row that moves between tables between two reads would appear in neither.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(_ONE_SNAPSHOT)


def nothing_follows(connection: sa.Connection) -> None:
    """Declare that this transaction makes no further changes. PostgreSQL then commits together with
    the last statement executed, whose result can still be read afterwards.
    """
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
"""The time by PostgreSQL's clock, or NULL on SQLite."""


@cache
def _insert_or_set(dialect: str, table: sa.Table, column: str) -> Prepared:
    once = insert(dialect, table)
    key = table.primary_key.columns.values()
    return Prepared(
        once.on_conflict_do_update(index_elements=key, set_={column: once.excluded[column]})
    )


def insert_or_set(connection: sa.Connection, table: sa.Table, column: str, values: Values) -> None:
    """Insert a row, or set that column if the row already exists."""
    _insert_or_set(connection.dialect.name, table, column).execute(connection, values)


def insert(dialect: str, table: sa.Table) -> sqlite.Insert | postgresql.Insert:
    """An INSERT that supports ON CONFLICT."""
    if dialect != "postgresql":
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql  # noqa: PLC0415 - 2 MB, for nothing with SQLite

    return postgresql.insert(table)


@cache
def _insert_ignore(
    dialect: str, table: sa.Table, _names: tuple[str, ...], returned: sa.Column[Any] | None = None
) -> Prepared:
    once = insert(dialect, table).on_conflict_do_nothing()
    return Prepared(once if returned is None else once.returning(returned))


def insert_ignore(
    connection: sa.Connection,
    table: sa.Table,
    values: Values,
    returned: sa.Column[Any] | None = None,
) -> Any:
    """Insert a row, or do nothing if it already exists. Returns the column `returned` of the
    inserted row.
    """
    once = _insert_ignore(connection.dialect.name, table, tuple(values), returned)
    return once.execute(connection, values) if returned is None else once.scalar(connection, values)


class NumberedInsert:
    """An insert whose new id later statements of the transaction need. In PostgreSQL the id is
    reserved with the reads before it, so that nobody waits for the insert.
    """

    def __init__(self, connection: sa.Connection, table: sa.Table) -> None:
        self._connection, self._table = connection, table
        self._reserved: PreparedResult | None = None
        if connection.dialect.name == "postgresql":
            self._reserved = _reservation(table).execute(connection)

    def insert(self, values: Values, refusal: Exception) -> int:
        """Returns the row's id. Raises `refusal` if the row exists, in PostgreSQL only when the
        statement is sent.
        """
        if self._reserved is not None:
            identity = int(self._reserved.scalar())
            values = {**values, "id": identity}
            once = _insert_ignore("postgresql", self._table, tuple(values))
            once.change_one(self._connection, refusal, values)
            return identity
        new = insert_ignore(self._connection, self._table, values, self._table.c.id)
        if new is None:
            raise refusal
        return int(new)


@cache
def _reservation(table: sa.Table) -> Prepared:
    sequence = sa.func.pg_get_serial_sequence(table.name, "id")
    return Prepared(sa.select(sa.func.nextval(sequence)))


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
    """Insert a row into the outbox. If a row with the same key exists, replace it if it is one of
    the given kind; otherwise do nothing.
    """
    _insert_or_turn(connection.dialect.name, table, only).execute(connection, values)
