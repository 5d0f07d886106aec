"""Walks all files under an open folder without leaving it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Set

# At most this many names under one folder are visited.
MAX_NAMES = 200_000
# Every level along the path is an open descriptor.
MAX_DEPTH = 100
_SKIPPED = frozenset({".git"})
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

Key = tuple[int, int]


def walk(
    folder: int, hidden: Set[Key] = frozenset(), *, folders: bool = False
) -> Iterator[tuple[str, int, str]]:
    """Each file under `folder` as (path from there, descriptor of its folder, name), by name; with
    `folders`, those too. Links are listed but not followed. `.git`, everything in `hidden` (device
    and inode), and anything deeper than MAX_DEPTH is skipped. Ends after MAX_NAMES.
    """
    for seen, (path, place, name, is_folder) in enumerate(_below(folder, "", hidden, 0)):
        if seen >= MAX_NAMES:
            return
        if folders or not is_folder:
            yield path, place, name


def _below(
    folder: int, above: str, hidden: Set[Key], depth: int
) -> Iterator[tuple[str, int, str, bool]]:
    try:
        with os.scandir(folder) as entries:
            names = sorted(entries, key=_by_name)
    except OSError:
        return
    for entry in names:
        path = above + entry.name
        if not entry.is_dir(follow_symlinks=False):
            yield path, folder, entry.name, False
        elif entry.name not in _SKIPPED and depth < MAX_DEPTH:
            yield from _inside(folder, path, entry.name, hidden, depth)


def _inside(
    folder: int, path: str, name: str, hidden: Set[Key], depth: int
) -> Iterator[tuple[str, int, str, bool]]:
    try:
        descriptor = os.open(name, _FOLDER, dir_fd=folder)
    except OSError:
        # Removed, not permitted, or replaced by a link in the meantime.
        return
    try:
        # Take the status of the opened file, so that it cannot be replaced in between.
        status = os.fstat(descriptor)
        if (status.st_dev, status.st_ino) not in hidden:
            yield path, folder, name, True
            yield from _below(descriptor, f"{path}/", hidden, depth + 1)
    finally:
        os.close(descriptor)


def _by_name(entry: os.DirEntry[str]) -> str:
    return entry.name
