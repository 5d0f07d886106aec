"""A plugin's tables in the assistant's store."""

from __future__ import annotations

from typing import Any, Protocol


class PluginTables(Protocol):
    """SQL statements over the store, each in one transaction. Values are named `:name` in the
    statement, in SQLite and in PostgreSQL."""

    async def rows(self, sql: str, **values: Any) -> list[dict[str, Any]]:
        """The rows of a query, each by column name. Raises StoreError."""

    async def change(self, sql: str, **values: Any) -> int:
        """Execute a statement; returns the number of changed rows. Raises StoreError."""
