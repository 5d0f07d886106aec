"""The tables of a plugin in the store of the assistant."""

from __future__ import annotations

from typing import Any, Protocol


class PluginTables(Protocol):
    """Statements of SQL over the store, each in one transaction. Values are named in the statement
    as `:name`, in SQLite and in PostgreSQL."""

    async def rows(self, sql: str, **values: Any) -> list[dict[str, Any]]:
        """What a query finds, each row by the names of its columns. Raises StoreError."""
        ...

    async def change(self, sql: str, **values: Any) -> int:
        """Do what a statement says; how many rows it changed. Raises StoreError."""
        ...
