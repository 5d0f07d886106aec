"""Changes under a folder: files, folders, links and everything else with a name there."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from nanobot.plugins.common.file_labels.names import INSTALLED, REPOSITORY, words_of


class Entry(msgspec.Struct, frozen=True):
    """An entry under a folder. `path` is relative to it. `is_new`: its name, or the target of a
    link, may be new.
    """

    path: str
    status: os.stat_result
    is_new: bool

    @property
    def is_file(self) -> bool:
        """Whether it has content, so is a file."""
        return stat.S_ISREG(self.status.st_mode)


def changed(top: Path, since: float, *, everything: bool) -> Iterator[Entry]:
    """What changed since then; links are not followed. Unless `everything`, skips repositories and
    folders of installed programs.
    """
    folders = [""]
    while folders:
        folder = folders.pop()
        with suppress(OSError), os.scandir(top / folder) as entries:
            here = (top / folder).stat().st_ctime >= since
            for entry in entries:
                with suppress(OSError):
                    path = f"{folder}/{entry.name}".lstrip("/")
                    status = entry.stat(follow_symlinks=False)
                    if status.st_ctime >= since:
                        yield Entry(path, status, here)
                    if entry.is_dir(follow_symlinks=False) and (
                        everything or entry.name not in {REPOSITORY, *INSTALLED}
                    ):
                        folders.append(path)


def names_of(top: Path, entry: Entry) -> Iterator[str]:
    """The names that a new entry shows: its own, and its target if it is a link."""
    if not entry.is_new:
        return
    name = entry.path.rpartition("/")[2]
    if words_of(name):
        yield name
    if stat.S_ISLNK(entry.status.st_mode):
        with suppress(OSError):
            yield str((top / entry.path).readlink())


def strip(top: Path, entry: Entry) -> None:
    """Remove metadata that can carry text and is shown without opening the entry: extended
    attributes, access control lists, and times set on anything but files (files have marks).
    """
    place, status = top / entry.path, entry.status
    if hasattr(os, "listxattr") and not stat.S_ISLNK(status.st_mode):
        with suppress(OSError):
            for name in os.listxattr(place, follow_symlinks=False):
                with suppress(OSError):
                    os.removexattr(place, name, follow_symlinks=False)
    if not entry.is_file and status.st_mtime_ns != status.st_ctime_ns:
        with suppress(OSError):
            os.utime(place, ns=(status.st_ctime_ns, status.st_ctime_ns), follow_symlinks=False)


def any_gone(top: Path, paths: Iterable[str]) -> bool:
    """Whether one of these no longer exists."""
    return any(not os.path.lexists(top / path) for path in paths)


def arrived(top: Path, since: float) -> tuple[list[str], list[str]]:
    """The files and folders that may have been moved here since then, with everything under those
    folders.
    """
    files, folders = [], []
    for entry in changed(top, since, everything=True):
        if entry.is_file:
            files.append(entry.path)
        elif entry.is_new and stat.S_ISDIR(entry.status.st_mode):
            for folder, _, names in os.walk(top / entry.path):
                inner = os.path.relpath(folder, top)
                folders.append(inner)
                files += (f"{inner}/{name}" for name in names)
    return list(dict.fromkeys(files)), list(dict.fromkeys(folders))
