"""Where PostgreSQL differs from SQLite in syntax or behavior."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.ext.compiler import compiles

from nanobot.plugins.common.store.server_locks import LOCK
from nanobot.plugins.postgres.store.declared import as_there
from nanobot.store.database.connection import Connection
from nanobot.store.database.dialect import DIALECTS, Dialect, ServerClock
from nanobot.store.database.prepared import PIPELINE, Prepared
from nanobot.store.database.results import PreparedResult

_ALONE = Prepared(sa.text(f"SELECT pg_advisory_xact_lock({LOCK})"))
_ONE_SNAPSHOT = sa.text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")


class PostgresDialect(Dialect):
    """Transactions are concurrent, and each round trip to the server costs time."""

    columns = (
        "SELECT table_name, column_name FROM information_schema.columns "
        "WHERE table_schema = current_schema()"
    )

    def insert(self, table: sa.Table) -> Any:
        return postgresql.insert(table)

    def declaring(self) -> AbstractContextManager[None]:
        return as_there()

    def alone(self, connection: Connection, name: str) -> None:
        _ALONE.execute(connection, n=name)

    def one_snapshot(self, connection: Connection) -> None:
        """Otherwise each statement sees what was committed before it began, so a row that moves
        between tables between two reads would appear in neither."""
        connection.execute(_ONE_SNAPSHOT)

    def nothing_follows(self, connection: Connection) -> None:
        connection.info[PIPELINE].end()

    def reserved_id(self, connection: Connection, table: sa.Table) -> PreparedResult | None:
        return _reservation(table).execute(connection)


@cache
def _reservation(table: sa.Table) -> Prepared:
    sequence = sa.func.pg_get_serial_sequence(table.name, "id")
    return Prepared(sa.select(sa.func.nextval(sequence)))


@compiles(ServerClock, "postgresql")
def _clock(_element: ServerClock, _compiler: object, **_: Any) -> str:
    return "CAST(extract(epoch FROM clock_timestamp()) AS double precision)"


DIALECTS["postgresql"] = PostgresDialect()
