"""Rows whose key begins with a text, found by the index of the key."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement


class Begins(FunctionElement[bool]):
    """Whether a column begins with a text that is not empty. SQLite's LIKE ignores case, so it
    would read every row; a range depends on the order of letters that PostgreSQL was given."""

    inherit_cache = True
    type = sa.Boolean()

    def self_group(self, against: Any = None) -> Any:
        """Alone: SQLite uses no index for "(...) = 1", as SQLAlchemy writes other functions."""
        return self


@compiles(Begins, "sqlite")
def _range(element: Begins, compiler: Any, **options: Any) -> str:
    column, first, end, _ = (compiler.process(each, **options) for each in element.clauses)
    return f"({column} >= {first} AND {column} < {end})"


@compiles(Begins)
def _pattern(element: Begins, compiler: Any, **options: Any) -> str:
    column, _, _, pattern = element.clauses
    return f"({compiler.process(column, **options)} LIKE {compiler.process(pattern, **options)})"


def begins(column: sa.Column[str], text: str) -> sa.ColumnElement[bool]:
    """Whether a column begins with this text."""
    pattern = "".join(f"\\{each}" if each in "\\%_" else each for each in text)
    return Begins(column, text, text[:-1] + chr(ord(text[-1]) + 1), f"{pattern}%")
