"""What all tables share: their registry, their ids, and their partial indexes."""

from __future__ import annotations

from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles

from nanobot.store.database.strict_types import LARGEST_INTEGER

metadata = sa.MetaData()
"""The tables declared so far; `schema.metadata` has all.

What their `info` says is for the search of unreadable rows. Of a column: `words`, those that it may
contain; `decode`, which raises for bytes that it must not contain; `lease`, that it is the end of
one; `any_time`, that it may be a time long past or far ahead; `listed`, that its row stays and is
listed if these bytes are unreadable; `default`, a function of the time that gives the value to
replace an unreadable one. Of a table: `in_use`, the condition of its rows that something waits for,
which has an index; `large`, that only a thorough search reads it; `of_background_runs`, that the
run `run_id` cannot be used without its row; `row`, which raises for the bytes of a row, by column,
that do not fit each other (the flaw is in the last column of its key).
"""

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def words(*names: str) -> dict[str, frozenset[str]]:
    """The `info` of a column that contains one of these words."""
    return {"words": frozenset(names)}


def decoded(kind: Any) -> dict[str, Any]:
    """The `info` of a column that contains JSON of this type."""
    return {"decode": msgspec.json.Decoder(kind).decode}


class NextId(sa.ColumnElement[int]):
    """The id of a new row: one more than the largest that a program wrote. SQLite itself counts on
    from the largest there is: one absurd id would give all new rows absurd ids. `once`: no id is
    used again, not even that of a removed row.
    """

    inherit_cache = False
    type = sa.Integer()

    def __init__(self, table: str, *, once: bool) -> None:
        self.table = table
        self.once = once


@compiles(NextId, "sqlite")
def _by_the_largest(element: NextId, _: object, **__: object) -> str:
    name, most = element.table, LARGEST_INTEGER
    last = f"coalesce((SELECT max(id) FROM {name} WHERE id <= {most}), 0)"  # noqa: S608 - of ours
    if element.once:
        used = f"SELECT seq FROM sqlite_sequence WHERE name = '{name}' AND seq <= {most}"  # noqa: S608
        last = f"max({last}, coalesce(({used}), 0))"
    return f"({last} + 1)"


@compiles(NextId)
def _by_the_sequence(_: NextId, __: object, **___: object) -> str:
    return "DEFAULT"


def next_id(table: str, *, once: bool = False) -> sa.Column[int]:
    """The column `id` of a table whose rows are numbered by the store. `once`: see NextId."""
    default = NextId(table, once=once)
    return sa.Column("id", Id, default=default, primary_key=True, autoincrement=True)


def partial(
    name: str, where: sa.TextClause | sa.ColumnElement[bool], *columns: sa.Column[Any]
) -> None:
    """An index of the rows for which `where` holds. SQLite uses it only for a query with exactly
    the same literal condition. For PostgreSQL see migrate.create.
    """
    sa.Index(name, *columns, sqlite_where=where)
