"""What changed below a folder: files, folders, links and all else that has a name there."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from nanobot.workspace.file_names import INSTALLED, REPOSITORY, words_of


class Entry(msgspec.Struct, frozen=True):
    """Something below a folder. `path` is relative to it, `is_new`: its name may be new, or what a
    link leads to."""

    path: str
    status: os.stat_result
    is_new: bool

    @property
    def is_file(self) -> bool:
        """Whether it has content."""
        return stat.S_ISREG(self.status.st_mode)


def changed(top: Path, since: float, *, everything: bool) -> Iterator[Entry]:
    """What changed since then; links are not followed. Without `everything` not what lies in
    repositories and where programs are installed."""
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
    """What a new entry says by its name, and by what it leads to."""
    if not entry.is_new:
        return
    name = entry.path.rpartition("/")[2]
    if words_of(name):
        yield name
    if stat.S_ISLNK(entry.status.st_mode):
        with suppress(OSError):
            yield str((top / entry.path).readlink())


def strip(top: Path, entry: Entry) -> None:
    """Take from a changed entry what can say something and is shown without opening it: extended
    attributes, lists of access, and times that were set of what has no mark of its own."""
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
    """Whether one of these is there no longer."""
    return any(not os.path.lexists(top / path) for path in paths)


def arrived(top: Path, since: float) -> tuple[list[str], list[str]]:
    """The files and folders that may have come to their place since then, with all that lies
    below such folders."""
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
