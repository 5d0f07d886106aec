"""Frequently executed statements: compiled once and passed directly to the driver.

SQLAlchemy spends about 30 us on every execution. For the thirty or so statements of a turn, that
was a quarter of the store's cost on SQLite, and much more on PostgreSQL: see Pipeline there.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Protocol, TypeAlias

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from nanobot.store.database.connection import Connection
from nanobot.store.database.results import PreparedResult, row_maker
from nanobot.store.database.strict_types import RowCheck

Values: TypeAlias = Mapping[str, Any]
PIPELINE = "pipeline"
"""The key in a connection's `info` of what queues its statements, where something does."""


class Stale(Exception):
    """What a transaction relied on without reading it is not so. `forget` it, then repeat."""

    def __init__(self, forget: Callable[[], None]) -> None:
        self.forget = forget


class Queue(Protocol):
    """Queues the statements of one connection; see pipeline.Pipeline."""

    def execute(
        self, prepared: Prepared, values: Values, refusal: Exception | None = None
    ) -> PreparedResult:
        """Queue a statement. `refusal` is raised if it must change a row and does not."""

    def many(self, prepared: Prepared, rows: Sequence[Values]) -> None:
        """Queue a statement once per set of parameters."""


class Prepared:
    """A statement that gets the same parameter names at every execution. Errors are raised as
    SQLAlchemy's. `queued`: what a queue keeps with it.
    """

    __slots__ = ("_compiled", "queued", "statement")

    def __init__(self, statement: sa.Executable) -> None:
        if isinstance(statement, sa.Insert) and not statement.exported_columns:
            statement = statement.inline()  # an id is returned where it is asked for
        self.statement = statement
        self._compiled: _Compiled | None = None
        self.queued: Any = None

    def execute(
        self, connection: Connection, values: Values | None = None, /, **named: Any
    ) -> PreparedResult:
        """Execute with the parameters in `values`, or given by name."""
        parameters = named if values is None else values
        if connection.dialect.name != "sqlite":
            return _queue(connection).execute(self, parameters)
        compiled = self._compiled or self._compile(connection, parameters)
        try:
            cursor = _driver(connection).execute(compiled.sql, compiled.values(parameters))
            rows = [] if cursor.description is None else compiled.rows(cursor)
            return PreparedResult(rows, cursor.rowcount)
        except sqlite3.Error as error:
            raise DBAPIError(compiled.sql, None, error) from error

    def scalar(self, connection: Connection, values: Values | None = None, /, **named: Any) -> Any:
        """The first column of the first row, or None."""
        return self.execute(connection, values, **named).scalar()

    def change_one(
        self,
        connection: Connection,
        refusal: Exception,
        values: Values | None = None,
        /,
        **named: Any,
    ) -> None:
        """Change (or find) exactly one row, or raise `refusal`. On PostgreSQL it is raised once the
        statement is sent, and everything executed in the meantime is rolled back with it.
        """
        parameters = named if values is None else values
        if connection.dialect.name != "sqlite":
            _queue(connection).execute(self, parameters, refusal)
        elif self.execute(connection, parameters).rowcount != 1:
            raise refusal

    def many(self, connection: Connection, rows: Sequence[Values]) -> None:
        """Execute once per set of parameters (at least one)."""
        if connection.dialect.name != "sqlite":
            _queue(connection).many(self, rows)
            return
        compiled = self._compiled or self._compile(connection, rows[0])
        try:
            _driver(connection).executemany(compiled.sql, map(compiled.values, rows))
        except sqlite3.Error as error:
            raise DBAPIError(compiled.sql, None, error) from error

    def _compile(self, connection: Connection, parameters: Values) -> _Compiled:
        self._compiled = _Compiled(self.statement, connection.dialect, list(parameters))
        return self._compiled


def _queue(connection: Connection) -> Queue:
    queue: Queue = connection.info[PIPELINE]
    return queue


def _driver(connection: Connection) -> Any:
    return connection.connection.dbapi_connection  # sqlite3's own, which no dialect wraps


class _Compiled:
    """Compiled for SQLite, for one set of parameter names."""

    __slots__ = ("_check", "_row", "sql", "values")

    def __init__(self, statement: sa.Executable, dialect: sa.Dialect, names: Sequence[str]) -> None:
        compiled = statement.compile(  # type: ignore[attr-defined]
            dialect=dialect, column_keys=list(names)
        )
        self.sql = str(compiled)
        # Literals within the statement become parameters too, with fixed values.
        fixed = {name: bind.value for name, bind in compiled.binds.items() if not bind.required}
        self.values = _in_order(list(compiled.positiontup or ()), names, fixed)
        self._row: Any = None
        self._check = RowCheck([column.type for column in compiled._result_columns])  # noqa: SLF001

    def rows(self, cursor: sqlite3.Cursor) -> list[Any]:
        """Builds rows with names, like SQLAlchemy's."""
        rows = cursor.fetchall()
        if not rows:
            return rows
        if self._row is None:
            self._row = row_maker([column[0] for column in cursor.description])
        self._check.all(rows)
        return list(map(self._row, rows))


def _in_order(
    order: list[str], names: Sequence[str], fixed: Values
) -> Callable[[Values], Sequence[Any]]:
    """Puts named and fixed parameters in order, for most statements without Python code."""
    if len(order) < 2:  # itemgetter gives no tuple
        return lambda parameters: [{**fixed, **parameters}[name] for name in order]
    get = itemgetter(*order)
    if set(order) <= set(names):
        return get
    return lambda parameters: get({**fixed, **parameters})
