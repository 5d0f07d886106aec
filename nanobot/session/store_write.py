"""Writes that are committed together with another result."""

from __future__ import annotations

from typing import Any, Protocol


class StoreWrite(Protocol):
    """Rows that a call adds to the store, in the transaction that records its result."""

    def write(self, connection: Any) -> None:
        """Write within that transaction, over the store's connection. It may be called again."""

    def written(self) -> None:
        """Called after the commit, to wake dependent tasks. A crash can prevent the call."""
