"""The memory: its files are the truth, and what the store holds of them follows."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec
from loguru import logger

from nanobot.boundary import boundary
from nanobot.errors import NanobotError, StoreError
from nanobot.memory import files as places
from nanobot.memory.embed import Embedder
from nanobot.memory.files import MemoryFiles, Stamp
from nanobot.memory.items import digest_of, extended, items, normal, without
from nanobot.memory.port import (
    MAX_TEXT,
    Kind,
    MemoryHit,
    MemoryView,
    Provenance,
    SavedMemory,
    State,
)
from nanobot.memory.records import Draft, MemoryLine, MemoryStore, MemoryWrite
from nanobot.memory.search import Search
from nanobot.memory.terms import terms_of
from nanobot.memory.vectors import Vectorizer
from nanobot.ports import Clock, StoreWrite

_AGAIN_SECONDS = (30.0, 120.0, 600.0)


class MemoryOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`max_file_chars`: how long a MEMORY.md may grow, and how much of it a prompt holds; facts
    beyond go to the day's notes. `zone` says when a day begins."""

    max_file_chars: int = 8_000
    zone: str = "UTC"


class Memory:
    """See port.MemoryPort. Within `serving`, what has no vector yet gets one."""

    def __init__(
        self,
        files: MemoryFiles,
        store: MemoryStore,
        clock: Clock,
        embedder: Embedder | None = None,
        terms: MemoryOptions = MemoryOptions(),  # noqa: B008 - frozen
    ) -> None:
        self._files = files
        self._store = store
        self._clock = clock
        self._vectors = None if embedder is None else Vectorizer(store, embedder)
        self._terms = terms
        self._search = Search(store, embedder)
        self._seen: dict[str, dict[str, Stamp]] = {}
        self._lines: dict[str, tuple[Stamp, list[MemoryLine]]] = {}
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._wake = asyncio.Event()
        self._unfiled: set[str] = set()

    # For runs

    async def search(self, scope: str, query: str, top_k: int = 5) -> list[MemoryHit]:
        """The memories of a scope that fit best. Files that cannot be read count as they were."""
        try:
            async with self._locks[scope]:
                await self._follow(scope)
        except NanobotError as error:
            logger.warning("memory is searched as it was read last: {}", error)
        return await self._search.search(scope, query, top_k)

    async def save(
        self,
        scope: str,
        text: str,
        provenance: Provenance,
        *,
        state: State = "active",
        kind: Kind = "note",
    ) -> SavedMemory:
        """Keep a text, once."""
        text = _checked(text)
        digest = digest_of(text)
        async with self._locks[scope]:
            await self._follow(scope)
            known = await self._store.known(scope, digest)
            if known is not None and (state != "active" or known.state == "active"):
                return known
            if state == "active":
                file = await self._write(scope, text, kind)
                provenance = msgspec.structs.replace(provenance, file=file)
            draft = _draft(scope, text, provenance, state, kind)
            saved = await self._store.save(draft)
        self._wake.set()
        return saved

    async def saving(
        self, scope: str, text: str, provenance: Provenance, *, state: State, kind: Kind
    ) -> StoreWrite | None:
        """What keeps a text with somebody else's transaction; None if it is known there, whatever
        became of it. The files follow with `filed` or any later look at them, after a crash too.
        Raises NanobotError as `save`."""
        text = _checked(text)
        digest = digest_of(text)
        await self.filed(scope)
        if await self._store.known(scope, digest) is not None:
            return None
        draft = _draft(scope, text, provenance, state, kind)
        return self._writing(self._store.saving(draft), scope)

    async def keeping(
        self, scope: str, text: str, provenance: Provenance, *, state: State, kind: Kind
    ) -> tuple[SavedMemory, StoreWrite | None]:
        """As `save` with somebody else's transaction: what that will come to, and what does it
        (None: it is known). The files follow as with `saving`. Raises NanobotError as `save`."""
        text = _checked(text)
        digest = digest_of(text)
        await self.filed(scope)
        known = await self._store.known(scope, digest)
        if known is not None and (state != "active" or known.state == "active"):
            return known, None
        if state == "active":
            file, _ = await self._place(scope, text, kind)
            await asyncio.to_thread(self._files.check, file)
        identity = await self._store.reserve() if known is None else known.id
        draft = msgspec.structs.replace(_draft(scope, text, provenance, state, kind), id=identity)
        write = self._writing(self._store.keeping(draft), scope)
        return SavedMemory(id=identity, state=state, fresh=known is None), write

    async def forgetting(self, identity: int, scope: str) -> tuple[MemoryView, StoreWrite]:
        """As `forget` with somebody else's transaction: what will be gone, and what does it. Its
        line goes as with `saving`, and with it the last trace. Raises NanobotError as `forget`."""
        view = await self.show(identity, scope)
        digest = digest_of(view.text)
        for file in [one for one in self._seen[scope] if self._holds(one, digest)]:
            await asyncio.to_thread(self._files.check, file)
        return view, self._writing(self._store.forgetting(identity), scope)

    def _writing(self, write: Callable[[Any], None], scope: str) -> StoreWrite:
        return MemoryWrite(write, partial(self._unfiled.add, scope), self._wake.set)

    async def filed(self, scope: str) -> None:
        """Have what was committed by `saving` stand in the scope's files. Raises NanobotError."""
        if scope in self._unfiled or scope not in self._seen:
            async with self._locks[scope]:
                await self._follow(scope)

    async def forget(self, identity: int, scope: str | None = None) -> MemoryView:
        """Remove a memory for good."""
        view = await self.show(identity, scope)
        digest = digest_of(view.text)
        async with self._locks[view.scope]:
            await self._follow(view.scope)
            await self._erase(self._seen[view.scope], digest)
            await self._store.remove(identity)
        return view

    async def accept(self, identity: int, scope: str | None = None) -> MemoryView:
        """A proposed memory becomes active."""
        view = await self._proposed(identity, scope)
        async with self._locks[view.scope]:
            await self._follow(view.scope)
            if await self._still(view):
                file = await self._write(view.scope, view.text, view.kind)
                await self._store.settle(identity, "active", file)
        return await self.show(identity)

    async def reject(self, identity: int, scope: str | None = None) -> MemoryView:
        """A proposed memory is retracted."""
        view = await self._proposed(identity, scope)
        await self._store.settle(identity, "retracted", "")
        return await self.show(view.id)

    async def show(self, identity: int, scope: str | None = None) -> MemoryView:
        """One memory."""
        view = await self._store.one(identity) if 0 < identity < 2**63 else None
        if view is not None and scope in (None, view.scope):
            async with self._locks[view.scope]:
                await self._follow(view.scope)
            view = await self._store.one(identity)
        if view is None or scope not in (None, view.scope):
            raise NanobotError(f"There is no memory {identity}; `memory list` shows what there is.")
        return view

    async def listed(
        self, *, scopes: Sequence[str] | None, state: str = "", limit: int = 50
    ) -> list[MemoryView]:
        """Memories, the newest first."""
        for scope in await self._scopes() if scopes is None else scopes:
            async with self._locks[scope]:
                await self._follow(scope)
        return await self._store.listed(scopes=scopes, state=state, limit=limit)

    async def curated(self, scope: str) -> str:
        """The beginning of the scope's MEMORY.md."""
        found = await asyncio.to_thread(self._files.read, places.curated(scope))
        text = found.encode("utf-8", "replace").decode().strip()
        most = self._terms.max_file_chars
        if len(text) <= most:
            return text
        return f"{text[:most]}\n[... MEMORY.md goes on; memory_search finds the rest ...]"

    # Following the files

    async def _scopes(self) -> list[str]:
        there = await asyncio.to_thread(self._files.scopes)
        return list(dict.fromkeys([*there, *await self._store.scopes()]))

    async def _follow(self, scope: str) -> None:
        """Bring the store up to what the files say, and them up to what was saved without them;
        under the scope's lock."""
        if scope in self._unfiled or scope not in self._seen:
            await self._file(scope)
        stamps = await asyncio.to_thread(self._files.look, scope)
        if stamps == self._seen.get(scope):
            return
        lines = await asyncio.to_thread(self._read, stamps)
        await self._store.follow(scope, lines)
        for file in self._seen.get(scope, {}).keys() - stamps.keys():
            del self._lines[file]
        self._seen[scope] = stamps
        self._wake.set()

    async def _file(self, scope: str) -> None:
        self._unfiled.discard(scope)
        try:
            for text, kind in await self._store.unfiled(scope):
                await self._write(scope, text, kind)
            forgotten = await self._store.forgotten(scope)
            files = await asyncio.to_thread(self._files.look, scope) if forgotten else ()
            for identity, text in forgotten:
                await self._erase(files, digest_of(text))
                await self._store.remove(identity)
        except NanobotError:
            self._unfiled.add(scope)
            raise

    async def _erase(self, files: Iterable[str], digest: bytes) -> None:
        """Take a memory out of files."""
        for file in files:
            if await asyncio.to_thread(self._holds, file, digest):
                change = self._files.change
                await asyncio.to_thread(change, file, lambda text: without(text, digest))

    def _holds(self, file: str, digest: bytes) -> bool:
        return any(item.digest == digest for item in items(self._files.read(file)))

    def _read(self, stamps: dict[str, Stamp]) -> list[MemoryLine]:
        found: list[MemoryLine] = []
        for file, stamp in stamps.items():
            held = self._lines.get(file)
            if held is None or held[0] != stamp:
                held = (stamp, self._parsed(file))
                self._lines[file] = held
            found += held[1]
        return found

    def _parsed(self, file: str) -> list[MemoryLine]:
        kind: Kind = "fact" if file.rpartition("/")[2] == places.CURATED else "note"
        return [
            MemoryLine(item.text, item.digest, terms_of(item.text), file, kind)
            for item in items(self._files.read(file))
        ]

    async def _write(self, scope: str, text: str, kind: Kind) -> str:
        """Add a line to the file it belongs into; returns which."""
        file, heading = await self._place(scope, text, kind)
        await asyncio.to_thread(self._files.change, file, lambda found: _with(found, text, heading))
        return file

    async def _place(self, scope: str, text: str, kind: Kind) -> tuple[str, str]:
        """The file a line belongs into, and what a new one is called."""
        file, heading = places.curated(scope), "Memory"
        length = len(await asyncio.to_thread(self._files.read, file)) if kind == "fact" else 0
        if kind != "fact" or length + len(text) > self._terms.max_file_chars:
            heading = self._today()
            file = places.notes(scope, heading)
        return file, heading

    def _today(self) -> str:
        try:
            zone = ZoneInfo(self._terms.zone)
        except (ZoneInfoNotFoundError, ValueError, OSError):  # "America" is a folder
            zone = ZoneInfo("UTC")
        return datetime.fromtimestamp(self._clock.now(), zone).date().isoformat()

    async def _proposed(self, identity: int, scope: str | None) -> MemoryView:
        view = await self.show(identity, scope)
        if view.state != "proposed":
            raise NanobotError(f"Memory {identity} is not proposed: it is {view.state}.")
        return view

    async def _still(self, view: MemoryView) -> bool:
        known = await self._store.known(view.scope, digest_of(view.text))
        return known is not None and known.state == "proposed"

    # Vectors

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Follow every file from the start, write what was saved without them, and make vectors,
        within."""
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(self._serve(), name="memory")
            try:
                yield
            finally:
                task.cancel()
        with boundary("memory files"):
            await self._filed_all()

    async def _serve(self) -> None:
        with boundary("reading the memory files"):
            await self.listed(scopes=None, limit=1)
        failed = 0
        while True:
            self._wake.clear()
            made = False
            with boundary("vectors of memories"):
                made = all([await self._filed_all(), await self.embed_all()])
            if made:
                failed = 0
                await self._wake.wait()
            else:
                await self._clock.sleep(_AGAIN_SECONDS[min(failed, len(_AGAIN_SECONDS) - 1)])
                failed += 1

    async def _filed_all(self) -> bool:
        """False if a file cannot be written; what belongs there is found all the same."""
        for scope in sorted(self._unfiled):
            try:
                await self.filed(scope)
            except StoreError:
                raise
            except NanobotError as error:
                logger.warning("what is remembered is in no file yet: {}", error)
        return not self._unfiled

    async def embed_all(self) -> bool:
        """Make the vectors that are missing; False if the model failed and it is worth trying
        again."""
        return self._vectors is None or await self._vectors.all()


def _with(content: str, text: str, heading: str) -> str:
    """The file with the text, if it does not hold it already."""
    if any(item.text == text for item in items(content)):
        return content
    return extended(content, text, heading)


def _draft(scope: str, text: str, provenance: Provenance, state: State, kind: Kind) -> Draft:
    return Draft(
        scope=scope,
        text=text,
        digest=digest_of(text),
        terms=terms_of(text),
        state=state,
        kind=kind,
        provenance=provenance,
    )


def _checked(text: str) -> str:
    kept = normal(text)
    if not kept:
        raise NanobotError("There is nothing to remember in an empty text.")
    if len(kept) > MAX_TEXT:
        raise NanobotError(
            f"A memory has at most {MAX_TEXT:,} characters, this has {len(kept):,}: "
            "shorten it, or write it into a file."
        )
    return kept
