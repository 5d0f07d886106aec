"""Column types that check values as rows are read.

SQLite accepts any value in any column. A value of the wrong type raises RowUnreadable when it is
read; otherwise it would fail later, far from its cause.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, MutableMapping, Sequence
from types import NoneType
from typing import Any, TypeAlias

import sqlalchemy as sa
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.util import LRUCache

from nanobot.errors import RowUnreadable

LARGEST_INTEGER = 2**53
_MANY = 8
"""So many rows are checked by columns: that has a price, but takes no call for each value."""

Check: TypeAlias = Callable[[Any], Any]


def _check(
    expected: str, types: Collection[type], fits: Callable[[Any], bool] | None = None
) -> Check:
    """Makes what returns values of these types that fit, and None, and refuses all others."""

    def check(value: Any) -> Any:
        if value is None or (type(value) in types and (fits is None or fits(value))):
            return value
        raise RowUnreadable(f"a column should hold {expected} and holds {_described(value)}")

    return check


def _described(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 40 else f"{shown[:40]}..."


text = _check("text", (str,))
integer = _check("an integer", (int,), range(-LARGEST_INTEGER, LARGEST_INTEGER + 1).__contains__)
number = _check("a number", (float, int), math.isfinite)
boolean = _check("true or false", (int, bool, float), (0, 1).__contains__)
binary = _check("bytes", (bytes,))


_CHECKS: tuple[tuple[type[sa.types.TypeEngine[Any]], Check], ...] = (
    (sa.Boolean, boolean),
    (sa.String, text),
    (sa.Integer, integer),
    (sa.Float, number),
    (sa.LargeBinary, binary),
)


def check_of(kind: sa.types.TypeEngine[Any]) -> Check | None:
    """The check for values of that type; None if the type is not one of ours."""
    return next((check for type_, check in _CHECKS if isinstance(kind, type_)), None)


def _usual(check: Check, column: Sequence[Any]) -> bool:
    """Whether the usual values are in a column, and nothing else; otherwise look at each."""
    types = set(map(type, column))
    if check is text:
        return types <= {str, NoneType}
    if check is binary:
        return types <= {bytes, NoneType}
    if check is integer:
        return types == {int} and max(map(abs, column)) <= LARGEST_INTEGER
    if check is number:
        return types <= {float, int} and all(map(math.isfinite, column))
    return False


class RowCheck:
    """Checks the rows of one statement. A row whose combination of types was seen before needs one
    lookup, plus checks of its numbers. Many rows are checked by columns.
    """

    __slots__ = ("_checks", "_known", "_numbers")

    def __init__(self, kinds: Sequence[sa.types.TypeEngine[Any]]) -> None:
        found = [(index, check_of(kind)) for index, kind in enumerate(kinds)]
        self._checks = [(index, check) for index, check in found if check is not None]
        self._numbers = [
            (index, check) for index, check in self._checks if check not in (text, binary)
        ]
        self._known: set[tuple[type, ...]] = set()

    def all(self, rows: Sequence[Sequence[Any]]) -> None:
        """Check each row. Raises RowUnreadable."""
        if len(rows) < _MANY:
            for row in rows:
                self(row)
            return
        columns = list(zip(*rows, strict=True))
        for index, check in self._checks:
            if not _usual(check, columns[index]):
                for value in columns[index]:
                    check(value)

    def __call__(self, row: Sequence[Any]) -> None:
        """Raises RowUnreadable."""
        types = tuple(map(type, row))
        known = types in self._known
        for index, check in self._numbers if known else self._checks:
            check(row[index])
        if not known:
            self._known.add(types)


def _checked(kind: Any, check: Check) -> Any:
    """A column type like `kind` that checks what is read."""
    return type(kind.__name__, (kind,), {"result_processor": lambda *_: check})


def _as_boolean(value: Any) -> bool | None:
    return None if value is None else bool(boolean(value))


class StrictSqlite(SQLiteDialect_pysqlite):
    """SQLite that checks every selected row. All instances compile a statement alike, so the stores
    of a process share what is COMPILED.
    """

    supports_statement_cache = True
    colspecs = {  # noqa: RUF012 - so declared there
        **SQLiteDialect_pysqlite.colspecs,
        sa.Boolean: _checked(sa.Boolean, _as_boolean),
        sa.String: _checked(sa.Text, text),
        sa.Integer: _checked(sa.Integer, integer),
        sa.Float: _checked(sa.Double, number),
        sa.LargeBinary: _checked(sa.LargeBinary, binary),
    }

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))


COMPILED: MutableMapping[Any, Any] = LRUCache(1_000)
STRICT = "sqlite+strict"
registry.register(STRICT.replace("+", "."), __name__, StrictSqlite.__name__)
