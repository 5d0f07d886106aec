"""Where databases differ in syntax or behavior: SQLite's way, and what changes it for another."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from nanobot.store.database.connection import Connection
from nanobot.store.database.prepared import Prepared, Values
from nanobot.store.database.results import PreparedResult


class Dialect:
    """SQLite's way. It never has concurrent transactions, and always reads from a snapshot, so most
    methods do nothing."""

    columns = (
        "SELECT m.name, c.name FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c "
        "WHERE m.type = 'table'"
    )
    """Selects the name of each table with that of each of its columns."""

    def insert(self, table: sa.Table) -> sqlite.Insert:
        """An INSERT that supports ON CONFLICT."""
        return sqlite.insert(table)

    def declaring(self) -> AbstractContextManager[None]:
        """Wraps the making of the statements that create the tables."""
        return nullcontext()

    def alone(self, connection: Connection, name: str) -> None:
        """See the function `alone`."""

    def one_snapshot(self, connection: Connection) -> None:
        """See the function `one_snapshot`."""

    def nothing_follows(self, connection: Connection) -> None:
        """See the function `nothing_follows`."""

    def reserved_id(self, connection: Connection, table: sa.Table) -> PreparedResult | None:
        """Ask for the id of a row that will be inserted; None: the insert tells it at once."""
        return None


DIALECTS: dict[str, Dialect] = {"sqlite": Dialect()}
"""By SQLAlchemy's names; the plugin of a database adds its own."""


def dialect_of(connection: Connection) -> Dialect:
    """That of the database of a connection."""
    return DIALECTS[connection.dialect.name]


def alone(connection: Connection, name: str) -> None:
    """Wait until no other transaction holds this lock."""
    dialect_of(connection).alone(connection, name)


def one_snapshot(connection: Connection) -> None:
    """Make all reads of this transaction see one snapshot. Call it before the first read."""
    dialect_of(connection).one_snapshot(connection)


def nothing_follows(connection: Connection) -> None:
    """Declare that this transaction makes no further changes, so that it can be committed together
    with the last statement executed. The results can still be read afterwards.
    """
    dialect_of(connection).nothing_follows(connection)


class ServerClock(FunctionElement[float]):
    """The time by the clock of a server; NULL where there is none."""

    inherit_cache = True
    type = sa.Double()


@compiles(ServerClock)
def _no_clock(_element: ServerClock, _compiler: object, **_: Any) -> str:
    return "NULL"


SERVER_CLOCK = ServerClock().label("now")


@cache
def _insert_or_set(
    dialect: Dialect,
    table: sa.Table,
    columns: tuple[str, ...],
    key: tuple[str, ...],
    only: sa.TextClause | None,
) -> Prepared:
    once = dialect.insert(table)
    values = {name: once.excluded[name] for name in columns}
    names = key or [column.name for column in table.primary_key]
    return Prepared(once.on_conflict_do_update(index_elements=names, set_=values, where=only))


def insert_or_set(
    connection: Connection,
    table: sa.Table,
    columns: tuple[str, ...],
    values: Values,
    *,
    key: tuple[str, ...] = (),
    only: sa.TextClause | None = None,
) -> None:
    """Insert a row. If there is one with the same key (by default, the primary key), set these
    columns of it instead, if it is one of the kind `only`."""
    once = _insert_or_set(dialect_of(connection), table, columns, key, only)
    once.execute(connection, values)


@cache
def _insert_ignore(
    dialect: Dialect,
    table: sa.Table,
    _names: tuple[str, ...],
    returned: sa.Column[Any] | None = None,
) -> Prepared:
    once = dialect.insert(table).on_conflict_do_nothing()
    return Prepared(once if returned is None else once.returning(returned))


def insert_ignore(
    connection: Connection, table: sa.Table, values: Values, returned: sa.Column[Any] | None = None
) -> Any:
    """Insert a row, or do nothing if it already exists. Returns the column `returned` of the
    inserted row.
    """
    once = _insert_ignore(dialect_of(connection), table, tuple(values), returned)
    return once.execute(connection, values) if returned is None else once.scalar(connection, values)


class NumberedInsert:
    """An insert whose new id later statements of the transaction need. A server reserves it with
    the reads before it, so that nobody waits for the insert.
    """

    def __init__(self, connection: Connection, table: sa.Table) -> None:
        self._connection, self._table = connection, table
        self._reserved = dialect_of(connection).reserved_id(connection, table)

    def insert(self, values: Values, refusal: Exception) -> int:
        """Returns the row's id. Raises `refusal` if the row exists, on a server only when the
        statement is sent.
        """
        if self._reserved is not None:
            identity = int(self._reserved.scalar())
            values = {**values, "id": identity}
            once = _insert_ignore(dialect_of(self._connection), self._table, tuple(values))
            once.change_one(self._connection, refusal, values)
            return identity
        new = insert_ignore(self._connection, self._table, values, self._table.c.id)
        if new is None:
            raise refusal
        return int(new)
