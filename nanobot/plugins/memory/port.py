"""The port to memory: facts and search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, Protocol, TypeAlias

import msgspec

from nanobot import labels
from nanobot.labels import NOTHING, Label, Privacy
from nanobot.session.lasting import Provenance

MAX_TEXT = 4_000
"""Maximum characters of one memory; longer texts belong in a file."""

State: TypeAlias = Literal["proposed", "active", "retracted"]
Kind: TypeAlias = Literal["fact", "note", "summary"]


class MemoryView(msgspec.Struct, frozen=True, kw_only=True):
    """A memory. `active` memories are lines of a file. `proposed` ones wait for a person's
    decision. `retracted` ones were rejected; they are kept so that they are not proposed again.
    """

    SHOWN: ClassVar[tuple[str, ...]] = ("id", "text", "state", "kind", "scope", "updated_at")

    id: int
    scope: str
    text: str
    state: State
    kind: Kind
    provenance: Provenance
    created_at: float
    updated_at: float


class MemoryHit(msgspec.Struct, frozen=True, kw_only=True):
    """A search result. Scores are comparable only within one search; `kind` and `created_at` are
    the memory's.
    """

    SHOWN: ClassVar[tuple[str, ...]] = ("id", "text", "created_at")

    id: int
    text: str
    score: float
    provenance: Provenance
    kind: Kind = "note"
    created_at: float = 0.0

    @property
    def label(self) -> Label:
        """The label of the text, which a person may have marked with #secret."""
        own = labels.of(privacy=Privacy.SECRET) if labels.is_marked_secret(self.text) else NOTHING
        return self.provenance.spoken.join(own)


class SavedMemory(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a save. If not `fresh`, the same text existed already, and `state` is its
    state.
    """

    id: int
    state: State
    fresh: bool


class MemoryPort(Protocol):
    """Stored memories, by scope. A search never returns memories of another scope."""

    async def search(self, scope: str, query: str, top_k: int = 5) -> list[MemoryHit]:
        """The active memories of a scope that match best, best first. Edits that people made to the
        files in the meantime are taken into account. Returns an empty list if nothing matches.
        """

    async def save(
        self,
        scope: str,
        text: str,
        provenance: Provenance,
        *,
        state: State = "active",
        kind: Kind = "note",
    ) -> SavedMemory:
        """Keep a text. Saving is idempotent: the same text saved again is the same memory, so a
        repeated call does no harm.

        `active` writes it into a file of the scope (facts into MEMORY.md, everything else into the
        day's notes); `proposed` keeps it until a person accepts it. A rejected memory stays
        rejected when it is proposed again. Raises NanobotError if the text is empty or longer than
        MAX_TEXT, or if the file cannot be written.
        """

    async def forget(self, identity: int, scope: str | None = None) -> MemoryView:
        """Remove a memory permanently: its line, its row and its index entries, and nothing else.
        Raises NanobotError if the scope (None: any scope) has no such memory.
        """

    async def correct(self, identity: int, text: str, scope: str | None = None) -> MemoryView:
        """Replace the text of a memory, also in its file. No trace of the old text is left. A
        proposed memory becomes active with the new text. The memory gets a new number. Raises
        NanobotError like `forget` and `save`.
        """

    async def accept(self, identity: int, scope: str | None = None) -> MemoryView:
        """Make a proposed memory active. Raises NanobotError like `forget`."""

    async def reject(self, identity: int, scope: str | None = None) -> MemoryView:
        """Retract a proposed memory, so that it is not proposed again. Raises NanobotError."""

    async def show(self, identity: int, scope: str | None = None) -> MemoryView:
        """One memory. Raises NanobotError like `forget`."""

    async def listed(
        self, *, scopes: Sequence[str] | None, state: str = "", limit: int = 50, find: str = ""
    ) -> list[MemoryView]:
        """The memories of these scopes (None: all), newest first, filtered by state ("": any) and
        by these words.
        """

    async def curated(self, scope: str) -> str:
        """The beginning of the scope's MEMORY.md, up to the prompt's limit; "" if there is none."""
