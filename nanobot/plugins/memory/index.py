"""The memory index. The files are authoritative, and the store follows them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

import msgspec
from loguru import logger

from nanobot.boundary import boundary
from nanobot.errors import NanobotError, StoreError, UnknownId
from nanobot.labels import without_secret_lines
from nanobot.plugins.common.models.embedding import Embedder
from nanobot.plugins.common.terms import terms_of
from nanobot.plugins.memory import files as places
from nanobot.plugins.memory.files import MemoryFiles
from nanobot.plugins.memory.followed import ReadFile
from nanobot.plugins.memory.items import digest_of, normal
from nanobot.plugins.memory.port import MAX_TEXT, Kind, MemoryHit, MemoryView, SavedMemory, State
from nanobot.plugins.memory.records import Draft, MemoryStore, MemoryWrite
from nanobot.plugins.memory.search import Search
from nanobot.plugins.memory.sync import FileSync, holding
from nanobot.plugins.memory.vectors import Vectorizer
from nanobot.ports import Clock
from nanobot.session.lasting import Provenance
from nanobot.session.store_write import StoreWrite
from nanobot.supervision import supervised

_AGAIN_SECONDS = (30.0, 120.0, 600.0)


class MemoryOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`max_file_chars`: the maximum length of a MEMORY.md, and how much of it goes into a prompt;
    further facts go to the day's notes. `zone` decides when a day begins.
    """

    max_file_chars: int = 8_000
    zone: str = "UTC"


class Memory:
    """See port.MemoryPort. While `serving` is active, memories without a vector get one."""

    def __init__(
        self,
        files: MemoryFiles,
        store: MemoryStore,
        clock: Clock,
        embedder: Embedder | None = None,
        options: MemoryOptions = MemoryOptions(),  # noqa: B008 - frozen
    ) -> None:
        self._files = files
        self._store = store
        self._clock = clock
        self.embedder = embedder
        self._vectors = None if embedder is None else Vectorizer(store, embedder)
        self.zone = options.zone
        self._max_file_chars = options.max_file_chars
        self._sync = FileSync(
            files, store, clock, max_file_chars=options.max_file_chars, zone=options.zone
        )
        self._search = Search(store, embedder)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._wake = asyncio.Event()

    # For runs

    async def search(self, scope: str, query: str, top_k: int = 5) -> list[MemoryHit]:
        """The memories of a scope that match best. Files that cannot be read count as last read.
        Raises NanobotError for a name that no scope can have.
        """
        places.curated(scope)
        try:
            async with self._lock(scope):
                await self._follow(scope)
        except NanobotError as error:
            logger.warning("memory is searched in the state of the last read: {}", error)
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
        async with self._lock(scope):
            await self._follow(scope)
            existing = await self._store.by_digest(scope, digest)
            if existing is not None and (state != "active" or existing.state == "active"):
                return existing
            if state == "active":
                file = await self._sync.write(scope, text, kind)
                provenance = msgspec.structs.replace(provenance, file=file)
            draft = _draft(scope, text, provenance, state, kind)
            saved = await self._store.save(draft)
            if state == "active":
                self._sync.saved(scope, provenance.file, digest)
        self._wake.set()
        return saved

    async def saving(
        self, scope: str, text: str, provenance: Provenance, *, state: State, kind: Kind
    ) -> StoreWrite | None:
        """Returns the write that keeps a text within the caller's transaction; None if the text is
        already known there, in any state. The files follow with `filed` or whenever they are next
        read, also after a crash. Raises NanobotError like `save`.
        """
        text = _checked(text)
        digest = digest_of(text)
        await self.filed(scope)
        if await self._store.by_digest(scope, digest) is not None:
            return None
        draft = _draft(scope, text, provenance, state, kind)
        return self._writing(self._store.saving(draft), scope)

    async def keeping(
        self, scope: str, text: str, provenance: Provenance, *, state: State, kind: Kind
    ) -> tuple[SavedMemory, StoreWrite | None]:
        """Like `save`, within the caller's transaction: returns what the save will result in, and
        the write that does it (None if the text is known). The files follow as with `saving`.
        Raises NanobotError like `save`.
        """
        text = _checked(text)
        digest = digest_of(text)
        await self.filed(scope)
        existing = await self._store.by_digest(scope, digest)
        if existing is not None and (state != "active" or existing.state == "active"):
            return existing, None
        if state == "active":
            file, _ = await self._sync.place(scope, text, kind)
            await asyncio.to_thread(self._files.check, file)
        identity = await self._store.reserve() if existing is None else existing.id
        draft = msgspec.structs.replace(_draft(scope, text, provenance, state, kind), id=identity)
        write = self._writing(self._store.keeping(draft), scope)
        return SavedMemory(id=identity, state=state, fresh=existing is None), write

    async def forgetting(self, identity: int, scope: str) -> tuple[MemoryView, StoreWrite]:
        """Like `forget`, within the caller's transaction: returns the memory that will be removed,
        and the write that removes it. The files follow as with `saving`; only then is the last
        trace of the text gone. Raises NanobotError like `forget`.
        """
        view = await self.show(identity, scope)
        digest = digest_of(view.text)
        async with self._lock(scope):
            read = await self._follow(scope)
        for file in holding(read, digest):
            await asyncio.to_thread(self._files.check, file)
        return view, self._writing(self._store.forgetting(identity), scope)

    def _writing(self, write: Callable[[Any], None], scope: str) -> StoreWrite:
        return MemoryWrite(write, partial(self._sync.unfiled.add, scope), self._wake.set)

    async def filed(self, scope: str) -> None:
        """Write what `saving` committed into the scope's files. Raises NanobotError."""
        if not self._sync.is_known(scope):
            async with self._lock(scope):
                await self._follow(scope)

    async def forget(self, identity: int, scope: str | None = None) -> MemoryView:
        """Remove a memory permanently. Raises StoreError if part of the removal is still to be
        done.
        """
        view = await self.show(identity, scope)
        digest = digest_of(view.text)
        async with self._lock(view.scope):
            await self._sync.erase(await self._follow(view.scope), digest)
            await self._store.remove(identity)
            self._sync.removed(view.scope, digest)
            self._search.forget(view.scope)
        await self._store.leave_no_trace()
        return view

    async def correct(self, identity: int, text: str, scope: str | None = None) -> MemoryView:
        """Replace the text of a memory; raises StoreError like `forget`."""
        view, text = await self.show(identity, scope), _checked(text)
        if text == view.text:
            return view
        if view.state == "retracted":
            raise NanobotError(f"Memory {identity} is retracted: say anew what to remember.")
        # The person who words it vouches for it.
        origin = msgspec.structs.replace(view.provenance, tainted=False)
        if view.state == "proposed":
            saved = await self.save(view.scope, text, origin, state="active", kind=view.kind)
            await self._store.settle(identity, "retracted", "")
            return await self.show(saved.id)
        saved = await self._reworded(view, text, origin)
        self._wake.set()
        await self._store.leave_no_trace()
        return await self.show(saved.id)

    async def _reworded(self, view: MemoryView, text: str, origin: Provenance) -> SavedMemory:
        """Replace the text of an active memory; if the new text is already known, that memory is
        used.
        """
        scope, old, new = view.scope, digest_of(view.text), digest_of(text)
        async with self._lock(scope):
            read = await self._follow(scope)
            saved = await self._store.by_digest(scope, new)
            if saved is not None and saved.state == "active":
                await self._sync.erase(read, old)
            else:
                # The file first: if the process ends here, the store catches up with the file.
                file = await self._sync.correct(read, old, text)
                origin = msgspec.structs.replace(origin, file=file)
                saved = await self._store.save(_draft(scope, text, origin, "active", view.kind))
                self._sync.saved(scope, file, new)
            await self._store.remove(view.id)
            self._sync.removed(scope, old)
            self._search.forget(scope)
        return saved

    async def accept(self, identity: int, scope: str | None = None) -> MemoryView:
        """A proposed memory becomes active."""
        view = await self._proposed(identity, scope)
        async with self._lock(view.scope):
            await self._follow(view.scope)
            if await self._still(view):
                file = await self._sync.write(view.scope, view.text, view.kind)
                await self._store.settle(identity, "active", file)
                self._sync.saved(view.scope, file, digest_of(view.text))
        return await self.show(identity)

    async def reject(self, identity: int, scope: str | None = None) -> MemoryView:
        """A proposed memory is retracted."""
        view = await self._proposed(identity, scope)
        await self._store.settle(identity, "retracted", "")
        return await self.show(view.id)

    async def show(self, identity: int, scope: str | None = None) -> MemoryView:
        view = await self._store.one(identity) if 0 < identity < 2**63 else None
        if view is not None and scope in (None, view.scope):
            async with self._lock(view.scope):
                await self._follow(view.scope)
            view = await self._store.one(identity)
        if view is None or scope not in (None, view.scope):
            raise UnknownId(f"There is no memory {identity}; `memory list` shows what there is.")
        return view

    async def listed(
        self, *, scopes: Sequence[str] | None, state: str = "", limit: int = 50, find: str = ""
    ) -> list[MemoryView]:
        """Memories, the newest first. When all scopes are listed, files that cannot be read count
        as last read.
        """
        for scope in await self._scopes() if scopes is None else scopes:
            try:
                async with self._lock(scope):
                    await self._follow(scope)
            except StoreError:
                raise
            except NanobotError as error:
                if scopes is not None:
                    raise
                logger.warning("memory is listed in the state of the last read: {}", error)
        return await self._store.listed(scopes=scopes, state=state, limit=limit, find=find)

    async def curated(self, scope: str) -> str:
        """The beginning of the scope's MEMORY.md, without lines that are marked as secret."""
        texts = await asyncio.to_thread(self._files.read, places.curated(scope))
        texts = without_secret_lines(texts)
        text = texts.encode("utf-8", "replace").decode().strip()
        most = self._max_file_chars
        if len(text) <= most:
            return text
        return f"{text[:most]}\n[... MEMORY.md goes on; memory_search finds the rest ...]"

    # Following the files

    async def _scopes(self) -> list[str]:
        there = await asyncio.to_thread(self._files.scopes)
        return list(dict.fromkeys([*there, *await self._store.scopes()]))

    async def _follow(self, scope: str) -> Mapping[str, ReadFile]:
        """Read the scope's files and bring the store up to date, under the scope's lock."""
        read, changed = await self._sync.follow(scope)
        if changed:
            self._search.forget(scope)
            self._wake.set()
        return read

    def _lock(self, scope: str) -> asyncio.Lock:
        return self._locks.setdefault(scope, asyncio.Lock())

    async def _proposed(self, identity: int, scope: str | None) -> MemoryView:
        view = await self.show(identity, scope)
        if view.state != "proposed":
            raise NanobotError(f"Memory {identity} is not proposed: it is {view.state}.")
        return view

    async def _still(self, view: MemoryView) -> bool:
        existing = await self._store.by_digest(view.scope, digest_of(view.text))
        return existing is not None and existing.state == "proposed"

    # Vectors

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Within this context: follow every file from the start, write pending memories into their
        files, and make vectors.
        """
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(supervised("memory", self._serve, self._clock), name="memory")
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
            complete = False
            with boundary("vectors of memories"):
                complete = all([await self._filed_all(), await self.embed_all()])
            if complete:
                failed = 0
                await self._wake.wait()
            else:
                await self._clock.sleep(_AGAIN_SECONDS[min(failed, len(_AGAIN_SECONDS) - 1)])
                failed += 1

    async def _filed_all(self) -> bool:
        """Write all pending memories; False if a file cannot be written. Searches find its memories
        anyway.
        """
        for scope in sorted(self._sync.unfiled):
            try:
                await self.filed(scope)
            except StoreError:
                raise
            except NanobotError as error:
                logger.warning("new memories are not in a file yet: {}", error)
        return not self._sync.unfiled

    async def embed_all(self) -> bool:
        """Make the missing vectors; False if the model failed and a retry is worthwhile."""
        return self._vectors is None or await self._vectors.all()


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
