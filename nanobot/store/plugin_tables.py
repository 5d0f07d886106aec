"""The tables of plugins in the assistant's store, with their own revisions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sqlalchemy as sa

from nanobot.errors import PluginBroken
from nanobot.store.database.database import Database

_REVISIONS = "CREATE TABLE IF NOT EXISTS plugin_revisions (name TEXT PRIMARY KEY, number INTEGER)"


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


async def migrate_plugin(
    database: Database, name: str, revisions: Sequence[Callable[..., Any] | str]
) -> None:
    """Migrate the tables of a plugin in one transaction. Each revision is a statement, or a
    function of a connection. Raises PluginBroken, StoreError, and whatever a function raises.
    """

    def upgrade(connection: sa.Connection) -> None:
        connection.exec_driver_sql(_REVISIONS)
        known = sa.text("SELECT number FROM plugin_revisions WHERE name = :name")
        number = connection.scalar(known, {"name": name}) or 0
        if number > len(revisions):
            raise PluginBroken(
                f"its tables are of revision {number}, and it knows {len(revisions)}: a newer "
                "version of it made them"
            )
        before = _tables(connection)
        for revision in revisions[number:]:
            if callable(revision):
                revision(connection)
            else:
                connection.execute(sa.text(revision))
        changed = before ^ _tables(connection)
        if any(not f"{table}_".startswith(f"{name}_") for table in changed):
            raise PluginBroken(f"each of its tables must be named {name} or {name}_...")
        forget = sa.text("DELETE FROM plugin_revisions WHERE name = :name")
        connection.execute(forget, {"name": name})
        keep = sa.text("INSERT INTO plugin_revisions (name, number) VALUES (:name, :number)")
        connection.execute(keep, {"name": name, "number": len(revisions)})

    await database.transact(upgrade)


def _tables(connection: sa.Connection) -> set[str]:
    return set(sa.inspect(connection).get_table_names())
