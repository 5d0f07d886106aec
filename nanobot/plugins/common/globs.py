"""Path patterns, with one meaning everywhere: for the model's file tools, for policy rules, and for
watched folders.

`*`, `?` and `[a-z]` match within a name, `**` matches across folders, `{a,b}` matches either. Own
implementation, because the regular expressions that other libraries make of `**` (wcmatch, for one)
take exponential time for some patterns, and the model writes patterns.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Set

from nanobot.errors import ToolError
from nanobot.text import pattern, quoted

MAX_PATTERN = 500
MAX_CHOICES = 64


class Glob:
    """A pattern for relative paths with slashes. A pattern without a slash matches names at any
    depth if `anywhere`, otherwise only at the top. Raises ToolError for an invalid pattern. For any
    pattern, matching a path takes at most its number of names times the pattern's.
    """

    def __init__(self, pattern: str, *, anywhere: bool = True) -> None:
        if not pattern or len(pattern) > MAX_PATTERN or "\0" in pattern:
            raise ToolError(f"{quoted(pattern)} cannot be a glob; write something like **/*.md")
        self._choices = [_names(text, anywhere=anywhere) for text in _expanded(pattern)]

    def matches(self, path: str) -> bool:
        """Whether the pattern matches a path."""
        names = path.split("/")
        return any(_fits(choice, names) for choice in self._choices)


# One name of a pattern; None for `**`, which matches any number of names.
_Name = re.Pattern[str] | None


def _names(text: str, *, anywhere: bool) -> list[_Name]:
    parts = text.rstrip("/").removeprefix("./").split("/")
    if anywhere and len(parts) == 1:
        parts.insert(0, "**")
    if parts[-1] == "**":
        # A pattern for the entries under a folder does not match the folder itself.
        parts.append("*")
    # fnmatch's regular expressions do not backtrack from one name of a pattern to the next.
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


_END = pattern(r"(?!)")


def _after_any(choice: list[_Name], standing: Set[int]) -> set[int]:
    """`standing`, plus the positions reached from there if `**` matches no name at all."""
    reached = set(standing)
    for at in range(len(choice)):
        if at in reached and choice[at] is None:
            reached.add(at + 1)
    return reached


def _expanded(pattern: str) -> list[str]:
    """The pattern with its braces expanded, and with `**` next to other letters of a name replaced
    by `*` or `*/**/*`: one pattern for each choice.
    """
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


_BRACES = pattern(r"\{([^{}]*)\}")
_WITHIN = pattern(r"(?<=[^/*])\*\*|\*\*(?=[^/*])")
