"""A row in quarantine with its content, and the port to such rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import msgspec

from nanobot.messages import Address
from nanobot.session.quarantine import Quarantined, UnreadableRows


class QuarantinedColumns(msgspec.Struct, frozen=True, kw_only=True):
    """The columns of one row, as text."""

    table: str
    columns: Mapping[str, str]


class QuarantinedContent(msgspec.Struct, frozen=True, kw_only=True):
    """A quarantined row with its columns, and the rows that were moved along."""

    row: Quarantined
    content: tuple[QuarantinedColumns, ...]


class Quarantine(UnreadableRows, Protocol):
    """The rows of a store that could not be read."""

    async def shown(self, identity: int) -> QuarantinedContent:
        """One with its content. Raises UnknownId."""

    async def restore(
        self, identity: int, values: Mapping[str, str]
    ) -> tuple[Quarantined, tuple[Address, ...]]:
        """Put a row back with these values in its columns. Returns it, and the chats that again
        have a message to deliver. Raises UnknownId, or UsageError if it still cannot be read."""
