"""All files below an open folder, without leaving it, and the patterns that choose among them."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterator, Set

from nanobot.errors import ToolError
from nanobot.text import quoted

# More than this many names below one folder are not looked through.
MAX_NAMES = 200_000
MAX_PATTERN = 500
MAX_CHOICES = 64
# Every level on the way is an open descriptor.
MAX_DEPTH = 100
_SKIPPED = frozenset({".git"})
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

Key = tuple[int, int]


def walk(
    folder: int, hidden: Set[Key] = frozenset(), *, folders: bool = False
) -> Iterator[tuple[str, int, str]]:
    """Each file below `folder` as (path from there, descriptor of its folder, name), by name; with
    `folders` those too. Links are named and not followed; `.git` and what is `hidden` (device and
    inode) is left out, and what lies deeper than MAX_DEPTH. Ends after MAX_NAMES.
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
        with os.scandir(folder) as found:
            names = sorted(found, key=_by_name)
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
        # Gone, closed to us, or exchanged for a link meanwhile.
        return
    try:
        # Of what was opened, so that nothing can be put in its place in between.
        status = os.fstat(descriptor)
        if (status.st_dev, status.st_ino) not in hidden:
            yield path, folder, name, True
            yield from _below(descriptor, f"{path}/", hidden, depth + 1)
    finally:
        os.close(descriptor)


def _by_name(entry: os.DirEntry[str]) -> str:
    return entry.name


class Glob:
    """A pattern for paths: `*`, `?`, `[a-z]`, `{a,b}` within a name, `**` over folders.

    Without a slash it is about names at any depth. Raises ToolError for what is no glob. Whatever
    the pattern, a path costs no more than its names times the pattern's.
    """

    def __init__(self, pattern: str) -> None:
        if not pattern or len(pattern) > MAX_PATTERN or "\0" in pattern:
            raise ToolError(f"{quoted(pattern)} cannot be a glob; write something like **/*.md")
        self._choices = [_names(text) for text in _expanded(pattern)]

    def matches(self, path: str) -> bool:
        """Whether a path (relative, with slashes) is one of those meant."""
        names = path.split("/")
        return any(_fits(choice, names) for choice in self._choices)


# One name of a pattern; None for `**`, any number of names.
_Name = re.Pattern[str] | None


def _names(text: str) -> list[_Name]:
    parts = text.strip("/").removeprefix("./").split("/")
    if "/" not in text.rstrip("/"):
        parts.insert(0, "**")
    if parts[-1] == "**":
        # What is below a folder is not the folder itself.
        parts.append("*")
    # fnmatch's regular expressions do not backtrack from name to name of a pattern.
    return [None if part == "**" else re.compile(fnmatch.translate(part)) for part in parts]


def _fits(choice: list[_Name], names: list[str]) -> bool:
    standing = _after_any(choice, {0})
    for name in names:
        going = set()
        for at in standing:
            pattern = choice[at] if at < len(choice) else _END
            if pattern is None:
                going.add(at)
            elif pattern.fullmatch(name):
                going.add(at + 1)
        standing = _after_any(choice, going)
    return len(choice) in standing


_END = re.compile(r"(?!)")


def _after_any(choice: list[_Name], standing: set[int]) -> set[int]:
    """`standing`, and where `**` for no name at all leads from there."""
    found = set(standing)
    for at in range(len(choice)):
        if at in found and choice[at] is None:
            found.add(at + 1)
    return found


def _expanded(pattern: str) -> list[str]:
    """The pattern without its braces: one for each choice."""
    done, todo = [], [pattern]
    while todo:
        text = todo.pop()
        found = _BRACES.search(text)
        if found is None:
            done.append(text)
        else:
            before, after = text[: found.start()], text[found.end() :]
            todo += [before + choice + after for choice in found[1].split(",")]
        if len(done) + len(todo) > MAX_CHOICES:
            raise ToolError(f"{quoted(pattern)} means more than {MAX_CHOICES} patterns")
    return done


_BRACES = re.compile(r"\{([^{}]*)\}")
