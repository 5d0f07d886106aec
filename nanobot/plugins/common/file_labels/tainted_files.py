"""Tracks which workspace files contain untrusted content, by path and content hash, so that a file
stays marked when it is moved, copied or read in another conversation.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from loguru import logger

from nanobot.labels import NOTHING, Label, Privacy, Speaker, of
from nanobot.plugins.common.file_labels.changed_entries import (
    Entry,
    any_gone,
    arrived,
    changed,
    names_of,
    strip,
)
from nanobot.plugins.common.file_labels.labels import FileLabels, restricts
from nanobot.plugins.common.file_labels.marks import TaintMarks
from nanobot.plugins.common.file_labels.names import numbers_tell, say_much
from nanobot.plugins.common.file_labels.opened_files import CommandWatch, OpenedFiles
from nanobot.plugins.common.policy.secret_files import holds_secrets
from nanobot.ports import Clock
from nanobot.system import SystemClock
from nanobot.text import pattern

MAX_MARKED = 20_000
"""Up to this many files changed by one command are marked individually; beyond that, their folders
are marked.
"""

MAX_FOLDERS = 2_000
"""If marked files are in more folders than this, every command counts as having read one."""

_END = 1024 * 1024
# File timestamps lag by up to a tick of the kernel (10 ms), and disks may round them.
_TICK_SECONDS = 0.05
_PATH, _CONTENT, _FOLDER, _RUNNING = "path:", "content:", "folder:", "running:"
_NAME, _NAMES_IN = "name:", "names:"
_WORD = pattern(r"[^\s'\"`;&|<>(){}$=:,@]+")


class TaintedFiles:
    """The taint marks on the files of one workspace. Paths are relative to it, with links resolved.
    `clock` is the clock of the file system's timestamps. `expected` are names that carry no text,
    regardless of who creates them.
    """

    def __init__(
        self,
        workspace: Path,
        marks: TaintMarks,
        clock: Clock | None = None,
        *,
        expected: Collection[str] = (),
    ) -> None:
        self._expected = frozenset(expected)
        self._clock = clock or SystemClock()
        self.workspace = workspace.resolve()
        self._marks = marks
        self.labels = FileLabels(marks)
        self._running: dict[str, float] = {}
        self._recovering = asyncio.Lock()
        self._recovered = False

    async def is_marked(self, path: str, digest: str = "", changed_at: float = 0.0) -> bool:
        """Whether a file contains untrusted content; `digest` is its content's digest, `changed_at`
        the time of its last change according to the file system.
        """
        await self._recover()
        return self._may_change(changed_at) or await self._marks.any_of(_marks_of(path, digest))

    def _may_change(self, changed_at: float) -> bool:
        """Whether a command that is still running may have made that change."""
        return any(changed_at >= since for since in self._running.values())

    async def any_marked(self, paths: Iterable[str]) -> bool:
        """Whether one of these files currently contains untrusted content."""
        for path in paths:
            digest, changed_at = await asyncio.to_thread(self._look, path)
            if await self.is_marked(path, digest, changed_at):
                return True
        return False

    async def label_of(self, path: str, digest: str = "", changed_at: float = 0.0) -> Label:
        """Who contributed to a file and how private it is, as far as that is known."""
        await self._recover()
        marked, label = await self.labels.look(_marks_of(path, digest), _places(path, digest))
        if holds_secrets(path):
            label = label.join(of(privacy=Privacy.SECRET))
        if label.tainted or not (marked or self._may_change(changed_at)):
            return label
        return label.join(of(Speaker.OUTSIDE))

    async def label_of_all(self, paths: Iterable[str]) -> Label:
        """The label of content derived from these files in their current state."""
        label = NOTHING
        for file in await asyncio.to_thread(lambda: [(path, *self._look(path)) for path in paths]):
            label = label.join(await self.label_of(*file))
        return label

    async def mark(self, path: str, digest: str, label: Label = NOTHING) -> None:
        """Mark this file as containing untrusted content."""
        await self._marks.add(_places(path, digest))
        await self.labels.add(_places(path, digest), label)

    async def label(self, path: str, label: Label) -> None:
        """Record that an untainted conversation with this label wrote the current version of this
        file."""
        if restricts(label):
            digest, _ = await asyncio.to_thread(self._look, path)
            await self.labels.add(_places(path, digest), label)

    async def mark_names(self, path: str) -> None:
        """Mark those names of a new path that do not exist yet as untrusted."""
        names = await asyncio.to_thread(self._missing, path)
        if names:
            await self._marks.add([_NAME + _storable(name) for name in names])

    async def names_tell(self, text: str) -> bool:
        """Whether a text that shows files reveals untrusted content: through the names in it, or
        through other details of marked files.
        """
        names = await self._of_kind(_NAME)
        folders = await self._of_kind(_NAMES_IN)
        paths = await self._of_kind(_PATH)
        if not (names or folders or paths or self._running):
            return False
        return await asyncio.to_thread(self._tell, names, folders, paths, text)

    def _tell(self, names: list[str], folders: list[str], paths: list[str], text: str) -> bool:
        for folder in folders:
            with suppress(OSError):
                names += (place.name for place in (self.workspace / folder).iterdir())
        if self._running:  # made so far by these
            entries = changed(self.workspace, min(self._running.values()), everything=True)
            names += (name for e in entries for name in names_of(self.workspace, e))
        told = numbers_tell((f"{self.workspace}/{path}" for path in paths), text)
        return say_much(dict.fromkeys(names), text, told)

    async def _of_kind(self, kind: str) -> list[str]:
        return [mark.removeprefix(kind) for mark in await self._marks.beginning_with(kind)]

    def _missing(self, path: str) -> list[str]:
        places = [self.workspace / path, *(self.workspace / path).parents]
        return [place.name for place in places if not os.path.lexists(place)]

    async def expect(self, content: bytes, label: Label) -> None:
        """Mark every file with this content, also one that does not exist yet."""
        place = _CONTENT + digest_of_bytes(content)
        await self._marks.add([place])
        await self.labels.add([place], label)

    async def received(self, path: str, label: Label) -> None:
        """Mark the file at this path, and its name."""
        await self.mark(path, "", label)
        await self._marks.add([_NAME + _storable(path.rpartition("/")[2])])

    async def is_outside(self, place: Path, content: bytes) -> bool:
        """Whether a file at this absolute path, with links resolved, is known to have content from
        outside, by its path or its content."""
        top = self.workspace
        path = str(place.relative_to(top)) if place.is_relative_to(top) else "/"
        return await self.is_marked(path, digest_of_bytes(content))

    async def mark_again(self, path: str, label: Label = NOTHING) -> None:
        """Renew the mark of a marked file after a partial change."""
        digest, _ = await asyncio.to_thread(self._look, path)
        await self.mark(path, digest, label.join(await self.labels.of(_places(path, ""))))

    async def clear(self, path: str) -> None:
        """Remove the marks of this path, because its content is replaced completely."""
        await self._marks.remove(_places(path, ""))
        await self.labels.forget(_places(path, ""))

    async def trust(self, path: str) -> int:
        """Remove the marks of a file, or of everything under a folder, because a person trusts it;
        returns how many were removed. For the whole workspace, marks on names are removed too.
        """
        path = path.strip("/") or "."
        below = "" if path == "." else f"{path}/"
        labelled = [_PATH + place for place in await self.labels.paths()]
        kept = [*await self._marks.beginning_with(_FOLDER), *labelled]
        marks = [
            mark
            for mark in dict.fromkeys([*await self._marks.beginning_with(_PATH), *kept])
            if (place := mark.partition(":")[2]) == path or place.startswith(below)
        ]
        for mark in marks:
            digest, _ = await asyncio.to_thread(self._look, mark.partition(":")[2])
            await self._marks.remove([mark, _CONTENT + digest])
            await self.labels.forget([mark, _CONTENT + digest])
        if path == ".":
            for kind in (_NAME, _NAMES_IN):
                await self._marks.remove(await self._marks.beginning_with(kind))
        return len(marks)

    async def listed(self) -> list[str]:
        """The marked files, and the folders (with a trailing slash) with only marked files."""
        paths = [mark.removeprefix(_PATH) for mark in await self._marks.beginning_with(_PATH)]
        folders = await self._marks.beginning_with(_FOLDER)
        return sorted([*paths, *(f"{mark.removeprefix(_FOLDER)}/" for mark in folders)])

    async def named_in(self, command: str) -> str:
        """The first marked file that a command line names; "" if there is none."""
        top = str(self.workspace)
        for word in dict.fromkeys(_WORD.findall(command)):
            with suppress(OSError, RuntimeError, ValueError):
                place = (self.workspace / word).resolve()
                if place.is_file() and place.is_relative_to(top):
                    path = str(place.relative_to(top))
                    if await self.any_marked([path]):
                        return path
        return ""

    @asynccontextmanager
    async def command(
        self, key: str, *, tainted: bool, brings: bool, label: Label = NOTHING
    ) -> AsyncIterator[CommandWatch]:
        """Context for running a command. Afterwards, the files it changed are marked if its caller
        is `tainted`, if it read a marked file, or if it `brings` untrusted content itself (then
        except for files that it installs). The changed files get the combined label of the caller
        and of the files that the command read.
        """
        await self._recover()
        began = self._clock.now(), self._clock.monotonic()
        if tainted:
            self._running[key] = began[0] - _TICK_SECONDS
            await self._marks.add([f"{_RUNNING}{began[0]!r}"])
        paths, folders = await self._of_kind(_PATH), await self._of_kind(_FOLDER)
        opened = None if tainted else await self._watch(paths, folders)
        others = set(await self.labels.paths()).difference(paths)
        watch = CommandWatch(opened, await self._watch(sorted(others), []))
        try:
            yield watch
        finally:
            read = watch.read_marked()
            label = label.join(await self.labels.of([_PATH + path for path in watch.paths()]))
            watch.close()
            if tainted or read or brings or restricts(label):
                # If the clock was set back in the meantime, files have the earlier times.
                elapsed = self._clock.monotonic() - began[1]
                since = min(began[0], self._clock.now() - elapsed)
                if (tainted or read or brings) and not label.tainted:
                    label = label.join(of(Speaker.OUTSIDE))
                changes = self._mark_changed(since, label, everything=tainted or read)
                await asyncio.shield(changes)
            elif paths or folders:
                await asyncio.shield(self._follow(began[0], paths, folders))
            if tainted:
                await asyncio.shield(self._marks.remove([f"{_RUNNING}{began[0]!r}"]))
                self._running.pop(key, None)

    async def _recover(self) -> None:
        """Mark the files changed by commands that the end of their process interrupted."""
        async with self._recovering:
            if self._recovered:
                return
            for mark in await self._marks.beginning_with(_RUNNING):
                since = float(mark.removeprefix(_RUNNING))
                await self._mark_changed(since, of(Speaker.OUTSIDE), everything=True)
                await self._marks.remove([mark])
            self._recovered = True

    async def _watch(self, paths: list[str], whole: list[str]) -> OpenedFiles | None:
        """A watch on the marked files; None if nothing is marked."""
        if not paths and not whole:
            return None
        return await asyncio.to_thread(
            OpenedFiles, self.workspace, paths, whole, max_folders=MAX_FOLDERS
        )

    async def _mark_changed(self, since: float, label: Label, *, everything: bool) -> None:
        since -= _TICK_SECONDS
        entries = await asyncio.to_thread(self._changed, since, everything=everything)
        if everything:
            await self._mark_new_names(entries)
        paths = [entry.path for entry in entries if entry.is_file]
        if len(paths) > MAX_MARKED and label.tainted:
            folders = _folders_of(paths)
            logger.info("{} files hold content from outside: {} folders", len(paths), len(folders))
            await self._marks.add([_FOLDER + folder for folder in folders])
            return
        places = []
        for path in paths:
            digest, _ = await asyncio.to_thread(self._look, path)
            places += _places(path, digest)
        if label.tainted:
            await self._marks.add(places)
        await self.labels.add(places, label)

    def _changed(self, since: float, *, everything: bool) -> list[Entry]:
        entries = list(changed(self.workspace, since, everything=everything))
        for entry in entries if everything else ():
            strip(self.workspace, entry)
        return entries

    async def _follow(self, since: float, paths: list[str], folders: list[str]) -> None:
        """Missing marked files were moved: mark the path where each is now."""
        top = self.workspace
        if not await asyncio.to_thread(any_gone, top, [*paths, *folders]):
            return
        moved, new_folders = await asyncio.to_thread(arrived, top, since - _TICK_SECONDS)
        for path in moved:
            digest, _ = await asyncio.to_thread(self._look, path)
            if digest and await self._marks.any_of([_CONTENT + digest]):
                await self.mark(path, "", await self.labels.of([_CONTENT + digest]))
        if await asyncio.to_thread(any_gone, top, folders):
            await self._marks.add([_FOLDER + _storable(folder) for folder in new_folders])

    async def _mark_new_names(self, entries: Sequence[Entry]) -> None:
        found = await asyncio.to_thread(self._new_names, entries)
        names = sorted({_NAME + _storable(name) for _, name in found})
        if len(names) > MAX_MARKED:
            names = [_NAMES_IN + folder for folder in _folders_of(path for path, _ in found)]
        if names:
            await self._marks.add(names)

    def _new_names(self, entries: Iterable[Entry]) -> list[tuple[str, str]]:
        names = (
            (entry.path, name) for entry in entries for name in names_of(self.workspace, entry)
        )
        return [(path, name) for path, name in names if name not in self._expected]

    def _look(self, path: str) -> tuple[str, float]:
        """A file's digest, and when it changed; empty if it cannot be read."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            descriptor = os.open(self.workspace / path, flags)
        except (OSError, ValueError):
            return "", 0.0
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                return "", 0.0
            return digest_of(descriptor, status.st_size), status.st_ctime
        finally:
            os.close(descriptor)


def digest_of(descriptor: int, size: int) -> str:
    """A digest that recognizes a copied or moved file: its length and both ends. "" for an empty
    file.
    """
    if not size:
        return ""
    digest = hashlib.sha256(str(size).encode())
    digest.update(os.pread(descriptor, min(size, _END), 0))
    if size > _END:
        digest.update(os.pread(descriptor, _END, max(size - _END, _END)))
    return digest.hexdigest()


def digest_of_bytes(data: bytes) -> str:
    """The same digest for content that is not in a file yet."""
    if not data:
        return ""
    digest = hashlib.sha256(str(len(data)).encode())
    digest.update(data[:_END])
    if len(data) > _END:
        digest.update(data[max(len(data) - _END, _END) :])
    return digest.hexdigest()


def _marks_of(path: str, digest: str) -> list[str]:
    folder = _storable(path).rpartition("/")[0] or "."
    return [*_places(path, digest), _FOLDER + folder]


def _places(path: str, digest: str) -> list[str]:
    return [_PATH + _storable(path), *([_CONTENT + digest] if digest else [])]


def _folders_of(paths: Iterable[str]) -> list[str]:
    return sorted({_storable(path.rpartition("/")[0] or ".") for path in paths})


def _storable(path: str) -> str:
    """A path as text: file names need not be valid text."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
