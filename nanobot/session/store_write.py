"""What is committed together with something else's outcome."""

from __future__ import annotations

from typing import Any, Protocol


class StoreWrite(Protocol):
    """Rows that a call leaves in the store, written in the transaction that records its result."""

    def write(self, connection: Any) -> None:
        """Within that transaction, over the store's own connection; it may be tried again."""
        ...

    def written(self) -> None:
        """They are committed: whoever acts on them may be woken. A crash can come before this."""
        ...
