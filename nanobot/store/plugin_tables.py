"""The tables of plugins in the assistant's store, with their own revisions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import sqlalchemy as sa

from nanobot.errors import PluginBroken
from nanobot.store.database.connection import Connection
from nanobot.store.database.database import Database

Revisions: TypeAlias = Sequence[Callable[..., Any] | str]
"""The revisions of a plugin's tables, each a statement or a function of a connection."""

REVISIONS = "plugin_revisions"
"""The table with the number of revisions that each plugin has applied."""
_r = sa.table(REVISIONS, sa.column("name", sa.Text), sa.column("number", sa.Integer))


class SqlPluginTables:
    """See seam.tables.PluginTables."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def rows(self, sql: str, **values: Any) -> list[dict[str, Any]]:
        return await self._database.transact(
            lambda connection: [
                dict(row) for row in connection.execute(sa.text(sql), values).mappings()
            ]
        )

    async def change(self, sql: str, **values: Any) -> int:
        return await self._database.transact(
            lambda connection: connection.execute(sa.text(sql), values).rowcount
        )


async def migrate_plugin(database: Database, name: str, revisions: Revisions) -> None:
    """Migrate the tables of a plugin in one transaction. Each revision is a statement, or a
    function of a connection. Raises PluginBroken, StoreError, and whatever a function raises.
    """

    def migrate(connection: Connection) -> None:
        number = numbers(connection).get(name, 0)
        if number > len(revisions):
            raise PluginBroken(
                f"its tables are of revision {number}, and it knows {len(revisions)}: a newer "
                "version of it made them"
            )
        if number == len(revisions):
            return  # and written nothing: a start has no disk to wait for
        before = _tables(connection)
        upgrade(connection, name, revisions)
        changed = (before ^ _tables(connection)) - {REVISIONS}
        if any(not f"{table}_".startswith(f"{name}_") for table in changed):
            raise PluginBroken(f"each of its tables must be named {name} or {name}_...")

    await database.transact(migrate)


def numbers(connection: Connection) -> dict[str, int]:
    """How many revisions each plugin has applied."""
    if not sa.inspect(connection).has_table(REVISIONS):
        return {}
    query = sa.select(_r.c.name, _r.c.number).order_by(_r.c.name)
    return {row.name: int(row.number) for row in connection.execute(query)}


def upgrade(connection: Connection, name: str, revisions: Revisions) -> None:
    """Apply those of the revisions that are new here, and note how many there are."""
    create = f"CREATE TABLE IF NOT EXISTS {REVISIONS} (name TEXT PRIMARY KEY, number INTEGER)"
    connection.exec_driver_sql(create)
    for revision in revisions[numbers(connection).get(name, 0) :]:
        if callable(revision):
            revision(connection)
        else:
            connection.execute(sa.text(revision))
    connection.execute(sa.delete(_r).where(_r.c.name == name))
    connection.execute(sa.insert(_r), {"name": name, "number": len(revisions)})


def _tables(connection: Connection) -> set[str]:
    return set(sa.inspect(connection).get_table_names())
