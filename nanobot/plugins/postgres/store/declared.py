"""What is different in PostgreSQL about the tables that the core declares."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

from nanobot.store.database import schema
from nanobot.store.database.tables import NextId


def is_numbered(column: sa.Column[Any]) -> bool:
    """Whether it is the `id` of rows that the store numbers."""
    return isinstance(getattr(column.default, "arg", None), NextId)


@contextmanager
def as_there() -> Iterator[None]:
    """PostgreSQL's own sequences number rows: SQLAlchemy makes one only for a column without a
    default. Indexes are partial there, too: naming the option where they are declared would load
    SQLAlchemy's whole PostgreSQL support, 2 MB and 60 ms."""
    tables = schema.metadata().tables.values()
    for index in (index for table in tables for index in table.indexes):
        where = index.dialect_options["sqlite"]["where"]
        index.dialect_options["postgresql"]["where"] = where
    numbered = [column for table in tables for column in table.columns if is_numbered(column)]
    defaults = [column.default for column in numbered]
    for column in numbered:
        column.default = None
    try:
        yield
    finally:
        for column, default in zip(numbered, defaults, strict=True):
            column.default = default
