"""The port for rows that could not be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

import msgspec

from nanobot.messages import Address
from nanobot.text import Sentence

QuarantineState: TypeAlias = Literal["moved", "repaired", "restored"]


class Quarantined(msgspec.Struct, frozen=True, kw_only=True):
    """A row that could not be read. `state`: moved (it exists only here), repaired (it is still in
    its table, with a plain value in the column) or restored. `with_it`: other rows that were moved
    along. `session`: the conversation that it belongs to, if known."""

    id: int
    table: str
    key: str
    column: str
    reason: Sentence
    state: QuarantineState
    at: float
    with_it: int = 0
    session: str = ""


class QuarantinedColumns(msgspec.Struct, frozen=True, kw_only=True):
    """The columns of one row, as text."""

    table: str
    columns: Mapping[str, str]


class QuarantinedContent(msgspec.Struct, frozen=True, kw_only=True):
    """A quarantined row with its columns, and the rows that were moved along."""

    row: Quarantined
    content: tuple[QuarantinedColumns, ...]


class Quarantine(Protocol):
    """The rows of a store that could not be read."""

    async def listed(
        self, *, tables: Sequence[str], session: str, restored: bool, limit: int
    ) -> list[Quarantined]:
        """The latest first. Empty `tables` or `session`: of all."""
        ...

    async def shown(self, identity: int) -> QuarantinedContent:
        """One with its content. Raises UnknownId."""
        ...

    async def restore(
        self, identity: int, values: Mapping[str, str]
    ) -> tuple[Quarantined, tuple[Address, ...]]:
        """Put a row back with these values in its columns. Returns it, and the chats that again
        have a message to deliver. Raises UnknownId, or UsageError if it still cannot be read."""
        ...
