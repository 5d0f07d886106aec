"""Storage of the event ledger."""

from __future__ import annotations

from typing import Protocol


class TriggerState(Protocol):
    """A persistent text per name. Each method is one transaction."""

    async def kept(self, name: str) -> bytes | None:
        """The stored text. Raises StoreError."""

    async def keep(self, name: str, body: bytes) -> None:
        """Replace the text. It is durable when this returns. Raises StoreError."""
