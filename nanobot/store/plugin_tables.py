"""The tables of plugins in the assistant's store, with their own revisions."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from nanobot.errors import PluginBroken
from nanobot.store.database.database import Database
from nanobot.store.database.plugin_transfer import REVISIONS, Revisions, numbers, upgrade


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

    def migrate(connection: sa.Connection) -> None:
        number = numbers(connection).get(name, 0)
        if number > len(revisions):
            raise PluginBroken(
                f"its tables are of revision {number}, and it knows {len(revisions)}: a newer "
                "version of it made them"
            )
        before = _tables(connection)
        upgrade(connection, name, revisions)
        changed = (before ^ _tables(connection)) - {REVISIONS}
        if any(not f"{table}_".startswith(f"{name}_") for table in changed):
            raise PluginBroken(f"each of its tables must be named {name} or {name}_...")

    await database.transact(migrate)


def _tables(connection: sa.Connection) -> set[str]:
    return set(sa.inspect(connection).get_table_names())
