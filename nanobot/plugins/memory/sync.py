"""Synchronizes the memory files and the store in both directions."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial

from loguru import logger

from nanobot.errors import NanobotError
from nanobot.plugins.common.terms import terms_of
from nanobot.plugins.memory import files as places
from nanobot.plugins.memory.days import day_of
from nanobot.plugins.memory.files import MemoryFiles, Stamp
from nanobot.plugins.memory.followed import FollowedScopes, ReadFile
from nanobot.plugins.memory.items import Item, corrected, digest_of, extended, items, without
from nanobot.plugins.memory.port import Kind
from nanobot.plugins.memory.records import FileChanges, MemoryLine, MemoryStore
from nanobot.ports import Clock
from nanobot.supervision import to_its_end
from nanobot.troubles import TROUBLES

_ROWS = 500
"""Rows read per transaction."""
_NOTHING = ReadFile(None, b"")


class FileSync:
    """Brings the store up to date with a scope's files, and writes memories that were saved without
    a file into the files. A scope is synchronized by one call at a time. The cost depends on the
    files that changed, not on the size of the scope; no transaction takes longer than a few
    milliseconds.

    `max_file_chars`: the maximum length of a MEMORY.md; further facts go to the day's notes. `zone`
    decides when a day begins. `followed` caches the state of the files between calls.
    """

    def __init__(
        self,
        files: MemoryFiles,
        store: MemoryStore,
        clock: Clock,
        *,
        max_file_chars: int,
        zone: str,
        followed: FollowedScopes | None = None,
    ) -> None:
        self._files = files
        self._store = store
        self._clock = clock
        self._max_file_chars = max_file_chars
        self._zone = zone
        self._followed = FollowedScopes() if followed is None else followed
        self.unfiled: set[str] = set()
        """The scopes whose files have to catch up with committed memories."""

    def is_known(self, scope: str) -> bool:
        """Whether the files of a scope were read and no memory waits to be written into them."""
        return scope in self._followed and scope not in self.unfiled

    async def follow(self, scope: str) -> tuple[Mapping[str, ReadFile], bool]:
        """Read the scope's files and bring the store up to date; returns the files, and whether any
        of them changed.
        """
        waiting = not self.is_known(scope)
        read, changed = await self._read(scope)
        if waiting and await self._write_out(scope, read):
            read, _ = await self._read(scope)
            changed = True
        return read, changed

    async def write(self, scope: str, text: str, kind: Kind) -> str:
        """Add a line to the file it belongs in; returns that file."""
        file, heading = await self.place(scope, text, kind)
        change = self._files.change
        await to_its_end(partial(change, file, lambda content: _with(content, text, heading)))
        return file

    def saved(self, scope: str, file: str, digest: bytes) -> None:
        """Record that a written line is in the store too: when the line disappears, its row is
        removed.
        """
        read = self._followed.get(scope)
        if read is not None:
            previous = read.get(file, _NOTHING)
            self._followed.put(scope, {**read, file: ReadFile(None, previous.joined + digest)})

    def removed(self, scope: str, digest: bytes) -> None:
        """Record that an erased line is not in the store any more: if it returns, it is new."""
        read = self._followed.get(scope)
        if read is not None:
            rest = {f: read[f].digests() - {digest} for f in holding(read, digest)}
            self._followed.put(
                scope, {**read, **{f: ReadFile.of(None, d) for f, d in rest.items()}}
            )

    async def place(self, scope: str, text: str, kind: Kind) -> tuple[str, str]:
        """The file a line belongs in, and the heading of a new one."""
        file, heading = places.curated(scope), "Memory"
        there = await asyncio.to_thread(self._files.text, file) if kind == "fact" else None
        if there is None or len(there) + len(text) > self._max_file_chars:
            heading = self._today()
            file = places.notes(scope, heading)
        return file, heading

    async def erase(self, read: Mapping[str, ReadFile], digest: bytes) -> None:
        """Remove a memory from the files that contain it."""
        for file in holding(read, digest):
            change = self._files.change
            await to_its_end(partial(change, file, lambda content: without(content, digest)))

    async def correct(self, read: Mapping[str, ReadFile], digest: bytes, text: str) -> str:
        """Replace a memory by a text in each file that contains it; returns one of these files.
        Raises NanobotError if no file contains it.
        """
        files = holding(read, digest)
        if not files:
            raise NanobotError("this memory is not in a file yet: try again in a moment")
        for file in files:
            change, heading = self._files.change, file.rpartition("/")[2].removesuffix(".md")
            edit = partial(corrected, digest=digest, text=text, heading=heading)
            await to_its_end(partial(change, file, edit))
        return files[0]

    async def _read(self, scope: str) -> tuple[Mapping[str, ReadFile], bool]:
        stamps = await asyncio.to_thread(self._files.look, scope)
        before = self._followed.get(scope)
        if before is None:
            before = await self._standing(scope)
        if {name: file.stamp for name, file in before.items()} == stamps:
            self._followed.put(scope, before)
            return before, False
        now, changes = await asyncio.to_thread(self._compare, before, stamps)
        for batch in changes.batches():
            await self._store.follow(scope, batch)
        self._followed.put(scope, now)
        return now, True

    async def _standing(self, scope: str) -> dict[str, ReadFile]:
        """The memories that the scope's files contain, according to the store."""
        digests: dict[str, list[bytes]] = {}
        last = 0
        while rows := await self._store.standing(scope, last, _ROWS):
            for row in rows:
                digests.setdefault(row.file, []).append(row.digest)
            last = rows[-1].id
        return {file: ReadFile.of(None, each) for file, each in digests.items()}

    def _compare(
        self, before: Mapping[str, ReadFile], stamps: Mapping[str, Stamp]
    ) -> tuple[dict[str, ReadFile], FileChanges]:
        """The current files, and their differences from the store."""
        now: dict[str, ReadFile] = {}
        added: dict[bytes, tuple[str, Item]] = {}
        removed: set[bytes] = set()
        for file, stamp in stamps.items():
            previous = before.get(file, _NOTHING)
            if previous.stamp == stamp:
                now[file] = previous
                continue
            text = self._text(file)
            if text is None:
                now[file] = ReadFile(None, previous.joined)
                continue
            in_file = {item.digest: item for item in items(text)}
            now[file] = ReadFile.of(stamp, in_file)
            old = previous.digests()
            added |= {digest: (file, item) for digest, item in in_file.items() if digest not in old}
            removed |= old - in_file.keys()
        for file in before.keys() - stamps.keys():
            removed |= before[file].digests()
        return now, _changes(before, now, added, removed)

    def _text(self, file: str) -> str | None:
        """A file's text; None if it cannot be read now, in which case it counts as last read."""
        what = f"the memory file {file}"
        try:
            text = self._files.text(file)
        except NanobotError as error:
            logger.warning("memory keeps the state of the last read: {}", error)
            TROUBLES.note(what, error)
            return None
        if text is None:
            TROUBLES.note(what, NanobotError(f"it has over {places.MAX_BYTES:,} bytes"))
        else:
            TROUBLES.over(what)
        return text

    async def _write_out(self, scope: str, read: Mapping[str, ReadFile]) -> bool:
        """Write pending committed memories into the files; returns whether there were any."""
        self.unfiled.discard(scope)
        try:
            unfiled = await self._store.unfiled(scope)
            for text, kind in unfiled:
                await self.write(scope, text, kind)
            forgotten = await self._store.forgotten(scope)
            for identity, text in forgotten:
                await self.erase(read, digest_of(text))
                await self._store.remove(identity)
                self.removed(scope, digest_of(text))
        except NanobotError:
            self.unfiled.add(scope)
            raise
        return bool(unfiled or forgotten)

    def _today(self) -> str:
        return day_of(self._clock.now(), self._zone)


def holding(read: Mapping[str, ReadFile], digest: bytes) -> list[str]:
    """The files that contain a memory."""
    return [file for file, contents in read.items() if digest in contents.digests()]


def _changes(
    before: Mapping[str, ReadFile],
    now: Mapping[str, ReadFile],
    added: Mapping[bytes, tuple[str, Item]],
    removed: set[bytes],
) -> FileChanges:
    """A memory may be in several files. The store names one of them, and keeps that one if
    possible.
    """
    stays = {
        digest: file
        for file, contents in now.items()
        if file in before and (added or removed)
        for digest in contents.digests() & before[file].digests()
    }
    elsewhere = {digest: file for digest, (file, _) in added.items()} | stays
    return FileChanges(
        lines=tuple(_line(*place) for digest, place in added.items() if digest not in stays),
        moved=tuple((digest, elsewhere[digest]) for digest in removed if digest in elsewhere),
        gone=tuple(digest for digest in removed if digest not in elsewhere),
    )


def _line(file: str, item: Item) -> MemoryLine:
    kind: Kind = "fact" if file.rpartition("/")[2] == places.CURATED else "note"
    return MemoryLine(item.text, item.digest, terms_of(item.text), file, kind)


def _with(content: str, text: str, heading: str) -> str:
    """The file with the text added, unless it already contains it."""
    listed = items(content)
    if any(item.text == text for item in listed):
        return content
    return extended(content, listed, text, heading)
