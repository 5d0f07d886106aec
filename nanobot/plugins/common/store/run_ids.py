"""Runs by the beginnings of their ids."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.verbs import SqlStore, transaction

_r = schema.runs


class RunIds(SqlStore):
    """The same code for SQLite and PostgreSQL."""

    @transaction()
    def beginning(self, connection: Connection, prefix: str, limit: int) -> list[str]:
        """Ids of runs with this prefix, newest first."""
        begins = _r.c.id.startswith(prefix, autoescape=True)
        query = sa.select(_r.c.id).where(begins).order_by(_r.c.id.desc()).limit(limit)
        return list(connection.scalars(query))
