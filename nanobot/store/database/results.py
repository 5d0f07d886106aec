"""The result of a prepared statement, on either database."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterator
from functools import partial
from typing import Any, TypeVar

import msgspec

S = TypeVar("S", bound=msgspec.Struct)


def as_struct(row: Any, kind: type[S], **others: object) -> S:
    """Build a struct from `others` and from the columns named like its fields. Every field must be
    present, even one with a default: a field that was renamed in one place only must not be lost
    silently.
    """
    values = {**row._mapping, **others}  # noqa: SLF001 - SQLAlchemy's public name for it
    return msgspec.convert({name: values[name] for name in kind.__struct_fields__}, kind)


class PreparedResult:
    """The result of an execution: the part of SQLAlchemy's result that the store uses."""

    __slots__ = ("_rows", "rowcount")

    def __init__(self, rows: list[Any], rowcount: int) -> None:
        self._rows = rows
        self.rowcount = rowcount

    def first(self) -> Any:
        return self._rows[0] if self._rows else None

    def one(self) -> Any:
        (row,) = self._rows
        return row

    def all(self) -> list[Any]:
        return self._rows

    def scalar(self) -> Any:
        return self._rows[0][0] if self._rows else None

    def __iter__(self) -> Iterator[Any]:
        return iter(self._rows)


def row_maker(names: list[str]) -> Any:
    """Makes a driver's row into a named tuple with the part of SQLAlchemy's rows that the store
    uses. It runs no Python code, because a claim reads hundreds of rows.
    """
    base = namedtuple("Row", names, rename=True)  # type: ignore[misc]

    class Row(base):
        __slots__ = ()

        @property
        def _mapping(self) -> dict[str, Any]:
            return dict(zip(names, self, strict=True))

    return partial(tuple.__new__, Row)
