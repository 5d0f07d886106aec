"""Statements of the hot path, compiled once and handed to SQLite's driver directly.

SQLAlchemy spends about 30 us on every execution, which for some thirty statements a turn was a
quarter of what the store costs. Only statements named by `hot` go this way, only on SQLite.
"""

from __future__ import annotations

import sqlite3
from collections import namedtuple
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

_hot: dict[int, sa.Executable] = {}
_prepared: dict[int, _Prepared] = {}
"""For all connections of the process: they speak one dialect, and so does what is compiled."""


def prepared(*statements: sa.Executable) -> None:
    """Send these statements the short way. They must live as long as the module that made them,
    and be given the same parameter names at every execution."""
    _hot.update((id(statement), statement) for statement in statements)


class PreparedResult:
    """What an execution gave: the part of SQLAlchemy's result that the store uses."""

    __slots__ = ("_rows", "rowcount")

    def __init__(self, rows: list[Any], rowcount: int) -> None:
        self._rows = rows
        self.rowcount = rowcount

    def first(self) -> Any:
        """The first row, or None."""
        return self._rows[0] if self._rows else None

    def one(self) -> Any:
        """The only row."""
        (row,) = self._rows
        return row

    def all(self) -> list[Any]:
        """Every row."""
        return self._rows

    def scalar(self) -> Any:
        """The first column of the first row, or None."""
        return self._rows[0][0] if self._rows else None

    def __iter__(self) -> Iterator[Any]:
        return iter(self._rows)


class _Prepared:
    """One statement for one set of parameter names."""

    def __init__(self, statement: sa.Executable, dialect: sa.Dialect, names: Sequence[str]) -> None:
        compiled = statement.compile(  # type: ignore[attr-defined]
            dialect=dialect, column_keys=list(names)
        )
        self.sql = str(compiled)
        self.order: list[str] = list(compiled.positiontup or ())
        # Literals within the statement are parameters too, with values of their own.
        self.fixed: dict[str, Any] = {
            name: bind.value for name, bind in compiled.binds.items() if not bind.required
        }
        self._row: Any = None

    def values(self, given: Mapping[str, Any]) -> list[Any]:
        fixed = self.fixed
        return [given[name] if name in given else fixed[name] for name in self.order]

    def rows(self, cursor: sqlite3.Cursor) -> list[Any]:
        """Rows with names, as SQLAlchemy's have."""
        if cursor.description is None:
            return []
        found = cursor.fetchall()
        if not found:
            return found
        if self._row is None:
            self._row = _row_type([column[0] for column in cursor.description])
        return [self._row._make(row) for row in found]


def _row_type(names: list[str]) -> Any:
    base = namedtuple("Row", names, rename=True)  # type: ignore[misc]

    class Row(base):
        __slots__ = ()

        @property
        def _mapping(self) -> dict[str, Any]:
            return dict(zip(names, self, strict=True))

    return Row


class PreparingConnection(sa.Connection):
    """A connection that knows the short way. Errors come as SQLAlchemy's, as on the long one."""

    def prepare(self, driver: sqlite3.Connection) -> PreparingConnection:
        """Ready for use over the driver's connection."""
        self._driver = driver
        return self

    def execute(self, statement: Any, parameters: Any = None, **options: Any) -> Any:
        """See sa.Connection.execute."""
        known = id(statement)
        if known not in _hot:
            return super().execute(statement, parameters, **options)
        many = isinstance(parameters, list)
        given: Mapping[str, Any] = (parameters[0] if many else parameters) or {}
        prepared = _prepared.get(known)
        if prepared is None:
            prepared = _Prepared(statement, self.dialect, list(given))
            _prepared[known] = prepared
        try:
            if many:
                values = [prepared.values(one) for one in parameters]
                cursor = self._driver.executemany(prepared.sql, values)
            else:
                cursor = self._driver.execute(prepared.sql, prepared.values(given))
            return PreparedResult(prepared.rows(cursor), cursor.rowcount)
        except sqlite3.Error as error:
            raise DBAPIError(prepared.sql, None, error) from error

    def scalar(self, statement: Any, parameters: Any = None, **options: Any) -> Any:
        """See sa.Connection.scalar."""
        return self.execute(statement, parameters, **options).scalar()
