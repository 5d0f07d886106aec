"""Patterns for paths, with one meaning wherever they are written: by the model for its files, in
rules of the policy, and for folders whose changes are events.

`*`, `?` and `[a-z]` stay within a name, `**` goes over folders, `{a,b}` is one of both. Written
here because regular expressions made of `**` (those of wcmatch, for one) take exponential time for
some patterns, and the model writes patterns.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Set

from nanobot.errors import ToolError
from nanobot.text import quoted

MAX_PATTERN = 500
MAX_CHOICES = 64


class Glob:
    """A pattern for paths, relative and with slashes. Without a slash it is about names at any
    depth if it may be `anywhere`, else about what is at the top. Raises ToolError for what is no
    glob. Whatever the pattern, a path costs no more than its names times the pattern's.
    """

    def __init__(self, pattern: str, *, anywhere: bool = True) -> None:
        if not pattern or len(pattern) > MAX_PATTERN or "\0" in pattern:
            raise ToolError(f"{quoted(pattern)} cannot be a glob; write something like **/*.md")
        self._choices = [_names(text, anywhere=anywhere) for text in _expanded(pattern)]

    def matches(self, path: str) -> bool:
        """Whether a path is one of those meant."""
        names = path.split("/")
        return any(_fits(choice, names) for choice in self._choices)


# One name of a pattern; None for `**`, any number of names.
_Name = re.Pattern[str] | None


def _names(text: str, *, anywhere: bool) -> list[_Name]:
    parts = text.rstrip("/").removeprefix("./").split("/")
    if anywhere and len(parts) == 1:
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


def _after_any(choice: list[_Name], standing: Set[int]) -> set[int]:
    """`standing`, and where `**` for no name at all leads from there."""
    reached = set(standing)
    for at in range(len(choice)):
        if at in reached and choice[at] is None:
            reached.add(at + 1)
    return reached


def _expanded(pattern: str) -> list[str]:
    """The pattern without its braces and without `**` beside other letters of a name: one for each
    choice."""
    done, todo = [], [pattern]
    while todo:
        text = todo.pop()
        part = _BRACES.search(text) or _WITHIN.search(text)
        if part is None:
            done.append(text)
        else:
            choices = ("*", "*/**/*") if part[0] == "**" else part[1].split(",")
            before, after = text[: part.start()], text[part.end() :]
            todo += [before + choice + after for choice in choices]
        if len(done) + len(todo) > MAX_CHOICES:
            raise ToolError(f"{quoted(pattern)} means more than {MAX_CHOICES} patterns")
    return done


_BRACES = re.compile(r"\{([^{}]*)\}")
_WITHIN = re.compile(r"(?<=[^/*])\*\*|\*\*(?=[^/*])")
