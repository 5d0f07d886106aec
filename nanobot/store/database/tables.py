"""What all tables share: their registry, their ids, and their partial indexes."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

metadata = sa.MetaData()

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def partial(
    name: str, where: sa.TextClause | sa.ColumnElement[bool], *columns: sa.Column[Any]
) -> None:
    """An index of the rows for which `where` holds. SQLite uses it only for a query with exactly
    the same literal condition. For PostgreSQL see migrate.create.
    """
    sa.Index(name, *columns, sqlite_where=where)
