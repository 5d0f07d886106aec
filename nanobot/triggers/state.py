"""Where the ledger of events is kept."""

from __future__ import annotations

from typing import Protocol


class TriggerState(Protocol):
    """One text that survives restarts, for each name. Each verb is one transaction."""

    async def kept(self, name: str) -> bytes | None:
        """What was kept last. Raises StoreError."""
        ...

    async def keep(self, name: str, body: bytes) -> None:
        """Keep this instead. When it returns, it survives any crash. Raises StoreError."""
        ...
