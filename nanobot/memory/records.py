"""What the store keeps of memory: rows, their full text and their vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import msgspec

from nanobot.memory.port import Kind, MemoryHit, MemoryView, Provenance, SavedMemory, State

_BATCH = 50


class MemoryLine(msgspec.Struct, frozen=True):
    """A memory as a file of its scope has it."""

    text: str
    digest: bytes
    terms: str
    file: str
    kind: Kind


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A memory to be kept; with a `file` in its provenance it stands there already. `id` is one
    that was reserved, or that of a memory known by this text."""

    scope: str
    text: str
    digest: bytes
    terms: str
    state: State
    kind: Kind
    provenance: Provenance
    id: int | None = None


class StandingRow(msgspec.Struct, frozen=True):
    """An active memory, and the file that it stands in."""

    id: int
    digest: bytes
    file: str


class FileChanges(msgspec.Struct, frozen=True):
    """What became different in the files of a scope: lines that stand there now, memories whose
    line is in another file (by digest), memories that are in none any more."""

    lines: tuple[MemoryLine, ...] = ()
    moved: tuple[tuple[bytes, str], ...] = ()
    gone: tuple[bytes, ...] = ()

    def batches(self) -> Iterator[FileChanges]:
        """The same in parts that a transaction takes few milliseconds for."""
        for at in range(0, len(self.lines), _BATCH):
            yield FileChanges(lines=self.lines[at : at + _BATCH])
        for at in range(0, len(self.moved), _BATCH):
            yield FileChanges(moved=self.moved[at : at + _BATCH])
        for at in range(0, len(self.gone), _BATCH):
            yield FileChanges(gone=self.gone[at : at + _BATCH])


class VectorRow(msgspec.Struct, frozen=True):
    """The vector of an active memory; `seq` grows with each that its scope gets."""

    seq: int
    id: int
    vector: bytes


class MemoryStore(Protocol):
    """Each verb is one transaction, and short: what a verb costs does not grow with the scope."""

    async def follow(self, scope: str, changes: FileChanges) -> None:
        """The memories of a scope follow its files. One that was proposed or retracted and stands
        in a file now is active; one that is `unfiled` does not go."""
        ...

    async def standing(self, scope: str, after: int, limit: int) -> list[StandingRow]:
        """The active memories of a scope that stand in a file, with ids above `after`, the lowest
        first."""
        ...

    async def save(self, draft: Draft) -> SavedMemory:
        """Keep a memory once: what a text says is its identity within its scope. One that was
        retracted stays so if it is proposed again."""
        ...

    def saving(self, draft: Draft) -> Callable[[Any], None]:
        """What keeps a memory within another transaction, unless its text is known in its scope, in
        whatever state. An active one without a `file` is `unfiled` until a file has it."""
        ...

    async def reserve(self) -> int:
        """An id for a memory that is kept with it, or never."""
        ...

    def keeping(self, draft: Draft) -> Callable[[Any], None]:
        """As `save`, within another transaction, and `unfiled` as with `saving`."""
        ...

    def forgetting(self, identity: int) -> Callable[[Any], None]:
        """What makes a memory `forgotten` within another transaction: nobody sees it any more."""
        ...

    async def forgotten(self, scope: str) -> list[tuple[int, str]]:
        """The memories of a scope whose lines and rows are to be removed yet."""
        ...

    async def unfiled(self, scope: str) -> list[tuple[str, Kind]]:
        """The active memories of a scope that are to be written into a file yet, oldest first."""
        ...

    async def by_digest(self, scope: str, digest: bytes) -> SavedMemory | None:
        """The memory of that text, if there is one."""
        ...

    async def settle(self, identity: int, state: State, file: str) -> bool:
        """A proposed memory gets that state; False if it is not proposed."""
        ...

    async def remove(self, identity: int) -> bool:
        """Remove a memory; every trace of it in the database's files goes soon."""
        ...

    async def leave_no_trace(self) -> None:
        """Remove the words of removed memories from the index and the database's log. Raises
        StoreError; it is done later then."""
        ...

    async def one(self, identity: int) -> MemoryView | None:
        """One memory."""
        ...

    async def listed(
        self, *, scopes: Sequence[str] | None, state: str, limit: int, find: str = ""
    ) -> list[MemoryView]:
        """Memories of these scopes (None: of all) with these words in them, the newest first."""
        ...

    async def scopes(self) -> list[str]:
        """Every scope there are memories of."""
        ...

    async def find(self, scope: str, terms: Sequence[str], limit: int) -> list[int]:
        """The active memories that contain some of the terms, the best first."""
        ...

    async def vectors(self, scope: str, model: str, after: int, limit: int) -> list[VectorRow]:
        """The vectors of a scope made by that model, with a `seq` above `after`, in order."""
        ...

    async def get(self, scope: str, scores: Sequence[tuple[int, float]]) -> list[MemoryHit]:
        """Active memories by id, in that order, with their scores; those gone meanwhile are left
        out."""
        ...

    async def without_vector(self, model: str, limit: int) -> list[tuple[int, str]]:
        """Active memories that have no vector of that model."""
        ...

    async def embed(self, model: str, vectors: Sequence[tuple[int, bytes]]) -> None:
        """Keep vectors; those of memories gone meanwhile are dropped."""
        ...


class MemoryWrite:
    """See tools.base.Write. `mark` notes that files have to follow, on whatever thread; `wake` has
    that done."""

    def __init__(
        self, write: Callable[[Any], None], mark: Callable[[], None], wake: Callable[[], None]
    ) -> None:
        self._write = write
        self._mark = mark
        self._wake = wake

    def write(self, connection: Any) -> None:
        """See Write. It may be committed without anybody being told: it is noted here already."""
        self._write(connection)
        self._mark()

    def written(self) -> None:
        self._mark()
        self._wake()
