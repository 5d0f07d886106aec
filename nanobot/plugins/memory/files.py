"""The files of memory: MEMORY.md and daily notes, which people may read and edit freely.

Links are never followed: a link could expose one person's folder to another.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TypeAlias

from loguru import logger

from nanobot.errors import NanobotError
from nanobot.session.scopes import FOLDER, OWNER
from nanobot.text import pattern
from nanobot.troubles import TROUBLES

CURATED = "MEMORY.md"
MAX_BYTES = 4_000_000
"""Larger files are not read; their memories stay as last read."""

_LEVELS = ("people", "chats")
# No part is `.` or `..`: see scope_of.
_SCOPE = pattern(r"(?:people|chats)(?:/(?!\.)[a-z0-9_@+.=%-]{1,250}){2}")
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# Opening a link, which is not followed, raises either of the last two.
_ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})

Stamp: TypeAlias = tuple[int, int, int]
"""What changes when a file's content changes: inode, time, size."""


class MemoryFiles:
    """The Markdown files of every scope, within one workspace. The methods block on the disk, never
    on the network: call them on a thread.

    Every change runs within `exclusive`, so that no tool or other process of ours changes the same
    file at the same time.
    """

    def __init__(
        self,
        workspace: Path,
        exclusive: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._workspace = workspace
        self._exclusive = exclusive

    def scopes(self) -> list[str]:
        """Every scope that has a folder, and always the owners' scope."""
        names = [OWNER]
        for level in _LEVELS:
            for channel in self._folders([FOLDER, level]):
                inner = self._folders([FOLDER, level, channel])
                names += [f"{level}/{channel}/{name}" for name in inner]
        return names

    def look(self, scope: str) -> dict[str, Stamp]:
        """The files of a scope, by their path in the workspace. A file whose name is not UTF-8 is
        skipped and logged. Raises NanobotError.
        """
        return {
            "/".join([*folder, name]): (status.st_ino, status.st_mtime_ns, status.st_size)
            for folder in _folders_of(scope)
            for name, status in self._listed(folder)
            if stat.S_ISREG(status.st_mode) and _is_of(scope, folder, name)
        }

    def read(self, file: str) -> str:
        """A file's text; bytes that are not UTF-8 become lone surrogates. "" if the file does not
        exist or is too large. Raises NanobotError if the file cannot be read.
        """
        return self.text(file) or ""

    def text(self, file: str) -> str | None:
        """Like `read`, but None for a file that is too large."""
        *folder, name = file.split("/")
        try:
            with self._opened(folder) as descriptor:
                return _text(os.open(name, _READ, dir_fd=descriptor), file)
        except OSError as error:
            if error.errno in _ABSENT:
                return ""
            raise NanobotError(f"{file} cannot be read: {error.strerror}") from error

    def change(self, file: str, edited: Callable[[str], str]) -> None:
        """Replace a file's text by `made(text)`, atomically. The change is on the disk when this
        returns. Raises NanobotError, naming the file.
        """
        *folder, name = file.split("/")
        try:
            with self._alone(), self._opened(folder, create=True) as descriptor:
                text, mode = "", 0o644
                with suppress(FileNotFoundError):
                    opened = os.open(name, _READ, dir_fd=descriptor)
                    status = os.fstat(opened)
                    if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
                        os.close(opened)
                        raise NanobotError(f"{file} is not a file of less than {MAX_BYTES:,} bytes")
                    mode = stat.S_IMODE(status.st_mode) & 0o777
                    text = _text(opened, file) or ""
                _replace(descriptor, name, edited(text), mode)
        except OSError as error:
            raise NanobotError(f"{file} cannot be written: {error.strerror}") from error

    def check(self, file: str) -> None:
        """Raises NanobotError, naming the file, if it cannot be changed now."""
        *folder, name = file.split("/")
        try:
            with self._opened(folder, create=True) as descriptor:
                if not os.access(".", os.W_OK | os.X_OK, dir_fd=descriptor):
                    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
                with suppress(FileNotFoundError):
                    status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                    if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
                        raise NanobotError(f"{file} is not a file of less than {MAX_BYTES:,} bytes")
        except OSError as error:
            raise NanobotError(f"{file} cannot be written: {error.strerror}") from error

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with self._exclusive():
            workspace = os.open(self._workspace, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                fcntl.flock(workspace, fcntl.LOCK_EX)
                yield
            finally:
                os.close(workspace)

    @contextmanager
    def _opened(self, folder: list[str], *, create: bool = False) -> Iterator[int]:
        descriptor = os.open(self._workspace, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for name in folder:
                if create:
                    with suppress(FileExistsError):
                        os.mkdir(name, dir_fd=descriptor)
                inner = os.open(name, _DIRECTORY, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = inner
            yield descriptor
        finally:
            os.close(descriptor)

    def _listed(self, folder: list[str]) -> list[tuple[str, os.stat_result]]:
        """The entries of a folder; none if it does not exist."""
        try:
            with self._opened(folder) as descriptor, os.scandir(descriptor) as entries:
                rows = [row for entry in entries if (row := _status(entry)) is not None]
        except OSError as error:
            if error.errno in _ABSENT:
                return []
            where = "/".join(folder) or str(self._workspace)
            raise NanobotError(f"{where} cannot be read: {error.strerror}") from error
        return sorted(rows, key=lambda entry: entry[0])

    def _folders(self, folder: list[str]) -> list[str]:
        return [name for name, status in self._listed(folder) if stat.S_ISDIR(status.st_mode)]


def curated(scope: str) -> str:
    """The scope's MEMORY.md."""
    return "/".join([*([] if scope == OWNER else _folders_of(scope)[0]), CURATED])


def notes(scope: str, day: str) -> str:
    """The scope's notes of a day, YYYY-MM-DD."""
    return "/".join([*_folders_of(scope)[-1], f"{day}.md"])


def _folders_of(scope: str) -> list[list[str]]:
    if scope == OWNER:
        return [[], [FOLDER]]
    if _SCOPE.fullmatch(scope) is None:
        raise NanobotError(f"{scope[:80]!r} has no memory; `memory list` shows the memories")
    return [[FOLDER, *scope.split("/")]]


def _is_of(scope: str, folder: list[str], name: str) -> bool:
    """In the workspace folder only MEMORY.md is memory; elsewhere every Markdown file is."""
    if scope == OWNER and not folder:
        return name == CURATED
    return name.endswith(".md") and not name.startswith(".")


def _status(entry: os.DirEntry[str]) -> tuple[str, os.stat_result] | None:
    """The status of a folder's entry; None if it is gone or its name is not UTF-8."""
    try:
        entry.name.encode()
        return entry.name, entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
    except UnicodeEncodeError as error:
        shown = os.fsencode(entry.name)
        logger.warning("{!r} is not read as memory: its name is not UTF-8", shown)
        TROUBLES.note(f"the memory file {shown!r}", error)
        return None


def _text(descriptor: int, file: str) -> str | None:
    with os.fdopen(descriptor, "rb") as opened:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ""
        data = opened.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        logger.warning("{} is over {:,} bytes long: it is not read as memory", file, MAX_BYTES)
        return None
    return data.decode("utf-8", "surrogateescape")


def _replace(folder: int, name: str, text: str, mode: int) -> None:
    temporary = f".nanobot-memory-{os.getpid()}.tmp"  # no other writer: see _alone
    with suppress(FileNotFoundError):
        os.unlink(temporary, dir_fd=folder)
    descriptor = os.open(temporary, _NEW, mode, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode("utf-8", "surrogateescape"))
            file.flush()
            os.fsync(descriptor)
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise
    os.fsync(folder)
