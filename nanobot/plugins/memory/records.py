"""The memory tables of the store: rows, full-text index and vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import msgspec

from nanobot.plugins.memory.port import Kind, MemoryHit, MemoryView, SavedMemory, State
from nanobot.session.lasting import Provenance

_BATCH = 50


class MemoryLine(msgspec.Struct, frozen=True):
    """A memory as it appears in a file of its scope."""

    text: str
    digest: bytes
    terms: str
    file: str
    kind: Kind


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A memory to be kept. If its provenance has a `file`, the file already contains it. `id` is a
    reserved id, or the id of the memory with the same text.
    """

    scope: str
    text: str
    digest: bytes
    terms: str
    state: State
    kind: Kind
    provenance: Provenance
    id: int | None = None


class StandingRow(msgspec.Struct, frozen=True):
    """An active memory, and the file that contains it."""

    id: int
    digest: bytes
    file: str


class FileChanges(msgspec.Struct, frozen=True):
    """The changes in a scope's files: new lines, memories whose line moved to another file (by
    digest), and memories that no file contains any more.
    """

    lines: tuple[MemoryLine, ...] = ()
    moved: tuple[tuple[bytes, str], ...] = ()
    gone: tuple[bytes, ...] = ()

    def batches(self) -> Iterator[FileChanges]:
        """The same in batches, each small enough for a transaction of a few milliseconds."""
        for at in range(0, len(self.lines), _BATCH):
            yield FileChanges(lines=self.lines[at : at + _BATCH])
        for at in range(0, len(self.moved), _BATCH):
            yield FileChanges(moved=self.moved[at : at + _BATCH])
        for at in range(0, len(self.gone), _BATCH):
            yield FileChanges(gone=self.gone[at : at + _BATCH])


class VectorRow(msgspec.Struct, frozen=True):
    """The vector of an active memory; `seq` increases with each vector added to its scope."""

    seq: int
    id: int
    vector: bytes


class MemoryStore(Protocol):
    """Each method is one short transaction. Its cost does not grow with the size of the scope."""

    async def follow(self, scope: str, changes: FileChanges) -> None:
        """Update the memories of a scope to match its files. A proposed or retracted memory that
        now appears in a file becomes active. An `unfiled` memory is not removed.
        """

    async def standing(self, scope: str, after: int, limit: int) -> list[StandingRow]:
        """The active memories of a scope that a file contains, with ids above `after`, in ascending
        order.
        """

    async def save(self, draft: Draft) -> SavedMemory:
        """Keep a memory once: within a scope, the text is its identity. A retracted memory stays
        retracted when it is proposed again.
        """

    def saving(self, draft: Draft) -> Callable[[Any], None]:
        """Returns the write that keeps a memory within another transaction; None if the scope
        already has its text, in any state. An active memory without a `file` is `unfiled` until a
        file contains it.
        """

    async def reserve(self) -> int:
        """Reserve an id for a memory. The id is used with that memory or never."""

    def keeping(self, draft: Draft) -> Callable[[Any], None]:
        """Like `save`, within another transaction; `unfiled` as with `saving`."""

    def forgetting(self, identity: int) -> Callable[[Any], None]:
        """Returns the write that marks a memory `forgotten` within another transaction. It is then
        invisible everywhere.
        """

    async def forgotten(self, scope: str) -> list[tuple[int, str]]:
        """The forgotten memories of a scope whose lines and rows still have to be removed."""

    async def unfiled(self, scope: str) -> list[tuple[str, Kind]]:
        """The active memories of a scope that have yet to be written into a file, oldest first."""

    async def by_digest(self, scope: str, digest: bytes) -> SavedMemory | None:
        """The memory with that text, if it exists."""

    async def settle(self, identity: int, state: State, file: str) -> bool:
        """Set the state of a proposed memory; False if it is not proposed."""

    async def remove(self, identity: int) -> bool:
        """Remove a memory. Every trace of it in the database's files is removed soon after."""

    async def leave_no_trace(self) -> None:
        """Remove the text of removed memories from the index and the database's log. Raises
        StoreError if that has to be done later.
        """

    async def one(self, identity: int) -> MemoryView | None:
        """One memory."""

    async def listed(
        self, *, scopes: Sequence[str] | None, state: str, limit: int, find: str = ""
    ) -> list[MemoryView]:
        """Memories of these scopes (None: all) that contain these words, newest first."""

    async def scopes(self) -> list[str]:
        """Every scope that has memories."""

    async def find(self, scope: str, terms: Sequence[str], limit: int) -> list[int]:
        """The active memories that contain some of the terms, best match first."""

    async def vectors(self, scope: str, model: str, after: int, limit: int) -> list[VectorRow]:
        """The vectors of a scope from that model with a `seq` above `after`, in order."""

    async def get(self, scope: str, scores: Sequence[tuple[int, float]]) -> list[MemoryHit]:
        """Active memories by id, in the given order, with their scores; memories removed in the
        meantime are left out.
        """

    async def without_vector(self, model: str, limit: int) -> list[tuple[int, str]]:
        """Active memories without a vector from that model."""

    async def embed(self, model: str, vectors: Sequence[tuple[int, bytes]]) -> None:
        """Store vectors; vectors of memories removed in the meantime are dropped."""


class MemoryWrite:
    """See tools.base.Write. `mark` records that the files have to follow, from any thread; `wake`
    triggers it.
    """

    def __init__(
        self, write: Callable[[Any], None], mark: Callable[[], None], wake: Callable[[], None]
    ) -> None:
        self._write = write
        self._mark = mark
        self._wake = wake

    def write(self, connection: Any) -> None:
        """See Write. The commit may succeed without a notification, so the mark is set here
        already.
        """
        self._write(connection)
        self._mark()

    def written(self) -> None:
        self._mark()
        self._wake()
