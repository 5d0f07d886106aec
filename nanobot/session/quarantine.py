"""Rows that could not be read, and the port to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias

import msgspec

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


class UnreadableRows(Protocol):
    """The rows of a store that could not be read. The plugin `quarantine` offers them."""

    async def listed(
        self, *, tables: Sequence[str], session: str, restored: bool, limit: int
    ) -> list[Quarantined]:
        """The latest first. Empty `tables` or `session`: of all."""
