"""What all tables share: their registry, their ids, and their partial indexes."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles

metadata = sa.MetaData()

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
LARGEST_ID = 2**53
"""Ids beyond this limit were not written by any program, and clients could not count so far."""


class NextId(sa.ColumnElement[int]):
    """The id of a new row: one more than the largest that a program wrote. SQLite itself counts on
    from the largest there is: one absurd id would give all new rows absurd ids.
    """

    inherit_cache = False
    type = sa.Integer()

    def __init__(self, table: str) -> None:
        self.table = table


@compiles(NextId, "sqlite")
def _by_the_largest(element: NextId, _: object, **__: object) -> str:
    return f"(SELECT coalesce(max(id), 0) + 1 FROM {element.table} WHERE id <= {LARGEST_ID})"  # noqa: S608 - a table of ours


@compiles(NextId)
def _by_the_sequence(_: NextId, __: object, **___: object) -> str:
    return "DEFAULT"


def next_id(table: str) -> sa.Column[int]:
    """The column `id` of a table whose rows are numbered by the store."""
    return sa.Column("id", Id, default=NextId(table), primary_key=True, autoincrement=True)


def is_numbered(column: sa.Column[Any]) -> bool:
    """Whether it is such a column."""
    return isinstance(getattr(column.default, "arg", None), NextId)


def partial(
    name: str, where: sa.TextClause | sa.ColumnElement[bool], *columns: sa.Column[Any]
) -> None:
    """An index of the rows for which `where` holds. SQLite uses it only for a query with exactly
    the same literal condition. For PostgreSQL see migrate.create.
    """
    sa.Index(name, *columns, sqlite_where=where)
