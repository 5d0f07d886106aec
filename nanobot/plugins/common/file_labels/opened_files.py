"""Detects whether any of a set of files is opened, by any process, with Linux's inotify."""

from __future__ import annotations

import ctypes
import os
import struct
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

_OPEN, _ISDIR, _OVERFLOW = 0x20, 0x4000_0000, 0x4000
_EVENT = struct.Struct("iIII")
_FLAGS = os.O_NONBLOCK | os.O_CLOEXEC
_READ_BYTES = 1024 * 1024


class OpenedFiles:
    """Watches files, and all files in folders, until it is closed. If it cannot watch (not on
    Linux, too many folders, no watches left), it reports that a file was opened.
    """

    def __init__(
        self, top: Path, files: Sequence[str], folders: Sequence[str], *, max_folders: int
    ) -> None:
        names: dict[str, set[str] | None] = defaultdict(set)
        for file in files:
            folder, _, name = file.rpartition("/")
            of_folder = names[folder or "."]
            if of_folder is not None:
                of_folder.add(name)
        names.update(dict.fromkeys(folders))
        self._names: dict[int, set[str] | None] = {}
        self._opened = len(names) > max_folders
        self.paths: dict[str, None] = {}
        """The opened files, as far as they are known."""
        self._folders: dict[int, str] = {}
        self._descriptor = -1 if self._opened else _begin()
        self._opened |= self._descriptor < 0
        if self._opened:
            return
        for folder, file_names in names.items():
            place = top / folder
            watch = _watch(self._descriptor, place)
            if watch >= 0:
                self._names[watch] = file_names
                self._folders[watch] = folder
            elif place.is_dir():
                self._opened = True

    @property
    def first(self) -> str:
        """The name of the first file that was opened; "" if it is not known."""
        return next(iter(self.paths), "").rpartition("/")[2]

    def any(self) -> bool:
        """Whether a file was opened so far."""
        while self._descriptor >= 0:
            try:
                events = os.read(self._descriptor, _READ_BYTES)
            except BlockingIOError:
                break
            self._take(events)
        return self._opened

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _take(self, events: bytes) -> None:
        at = 0
        while at < len(events):
            watch, mask, _, length = _EVENT.unpack_from(events, at)
            at += _EVENT.size
            name = os.fsdecode(events[at : at + length].rstrip(b"\0"))
            at += length
            file_names = self._names.get(watch, set())
            if mask & _OVERFLOW or (
                mask & _OPEN and not mask & _ISDIR and (file_names is None or name in file_names)
            ):
                self._opened = True
                folder = self._folders.get(watch, "")
                self.paths[name if folder == "." else f"{folder}/{name}"] = None


class CommandWatch:
    """Watches a running command's access to marked files."""

    def __init__(self, opened: OpenedFiles | None, labelled: OpenedFiles | None) -> None:
        self._opened = opened
        self._labelled = labelled

    def close(self) -> None:
        """Stop watching."""
        for opened in (self._opened, self._labelled):
            if opened is not None:
                opened.close()

    def paths(self) -> list[str]:
        """The labeled files that the command opened, as far as they are known."""
        seen = [opened for opened in (self._opened, self._labelled) if opened and opened.any()]
        return [path for opened in seen for path in opened.paths if path]

    def read_marked(self) -> bool:
        """Whether the command opened a marked file."""
        return self._opened is not None and self._opened.any()

    def read_none(self) -> bool:
        return not self.read_marked()

    @property
    def opened(self) -> str:
        """The name of the first file that the command opened, if known."""
        return "" if self._opened is None else self._opened.first


def _begin() -> int:
    with suppress(OSError, AttributeError):
        return int(ctypes.CDLL(None).inotify_init1(_FLAGS))
    return -1


def _watch(descriptor: int, folder: Path) -> int:
    return int(ctypes.CDLL(None).inotify_add_watch(descriptor, os.fsencode(folder), _OPEN))
