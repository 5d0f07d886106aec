"""The memories in a Markdown file: each list item and each paragraph is one; headings are not.

All other lines stay unchanged, byte for byte, when memories are added or removed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec

from nanobot.text import pattern

_BULLET = pattern(r"(?: ?[-*+]|\d{1,9}[.)])[ \t]+(?=\S)")
_SKIPPED = pattern(r"#{1,6}(?:\s|$)|-{3,}$|\*{3,}$|_{3,}$|<!--.*-->\s*$")
_INDENTED = pattern(r"(?: {1,2}|\t)")
_UNWANTED = pattern("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_EMPTY_LINES = pattern(r"\n{3,}")


class Item(msgspec.Struct, frozen=True):
    """A memory in a file: its lines from `first` up to, but not including, `end`."""

    text: str
    first: int
    end: int

    @property
    def digest(self) -> bytes:
        """The memory's identity."""
        return digest_of(self.text)


def digest_of(text: str) -> bytes:
    """The digest that identifies a text."""
    return hashlib.sha256(text.encode()).digest()


def normal(text: str) -> str:
    """The text as a file can hold it: no control characters, no leading, trailing or repeated empty
    lines, no trailing spaces.
    """
    text = _UNWANTED.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    lines = "\n".join(line.rstrip() for line in text.split("\n"))
    return _EMPTY_LINES.sub("\n\n", lines.strip()).strip()


def written(text: str) -> str:
    """A normalized text as a list item."""
    first, *others = text.split("\n")
    return "\n".join([f"- {first}", *(f"  {line}" if line else "" for line in others)]) + "\n"


def items(content: str) -> list[Item]:
    """The memories of a file, in order."""
    return _Reader(content.split("\n")).read()


def without(content: str, digest: bytes) -> str:
    """The file without the memories that have this digest; one empty line stays between their
    neighbours.
    """
    lines = content.split("\n")
    for item in reversed(items(content)):
        if item.digest == digest:
            first, end = item.first, item.end
            before = first == 0 or not lines[first - 1].strip()
            after = end < len(lines) - 1 and not lines[end].strip()
            del lines[first : end + 1 if before and after else end]
    return "\n".join(lines)


def corrected(content: str, digest: bytes, text: str, heading: str) -> str:
    """The file with the memories that have this digest replaced by that text; all others stay
    unchanged.
    """
    lines, there = content.split("\n"), items(content)
    for item in reversed(there):
        if item.digest == digest:
            lines[item.first : item.end] = _like(lines[item.first], text)
    changed = "\n".join(lines)
    if [item.text for item in items(changed)] == [
        text if item.digest == digest else item.text for item in there
    ]:
        return changed
    # Here it would be read as a heading, or merge with its neighbour.
    rest = without(content, digest)
    return extended(rest, items(rest), text, heading)


def _like(line: str, text: str) -> list[str]:
    """The lines of a text, with the same list marker as that line."""
    newline = "\r" if line.endswith("\r") else ""
    mark = "\ufeff" if line.startswith("\ufeff") else ""
    bullet = _BULLET.match(line.removeprefix(mark))
    first, *others = text.split("\n")
    begin, indent = (bullet[0], "  ") if bullet else ("", "")
    lines = [f"{mark}{begin}{first}", *(f"{indent}{other}" if other else "" for other in others)]
    return [f"{each}{newline}" for each in lines]


def extended(content: str, items: Sequence[Item], text: str, heading: str) -> str:
    """The file, which contains the memories `found`, with one memory appended. A new file starts
    with the heading.
    """
    if not content.strip():
        return f"# {heading}\n\n{written(text)}"
    lines = content.rstrip().split("\n")
    newline = "\r\n" if lines[0].endswith("\r") else "\n"
    # After a paragraph or a heading, a list item needs an empty line before it.
    listed = items and _BULLET.match(lines[items[-1].first])
    last = items[-1].end if items else 0
    gap = "" if listed and last >= len(lines) else newline
    return content.rstrip() + newline + gap + written(text).replace("\n", newline)


class _Reader:
    """Collects lines into items."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._items: list[Item] = []
        self._text: list[str] = []
        self._first = self._end = 0
        self._listed = False

    def read(self) -> list[Item]:
        gap = False
        for number, raw in enumerate(self._lines):
            line = raw.rstrip()
            if number == 0:
                line = line.removeprefix("\ufeff")
            if not line:
                gap = True
                continue
            bullet = _BULLET.match(line)
            if _SKIPPED.match(line):
                self._finish()
            elif bullet is not None:
                self._finish()
                self._begin(number, line[bullet.end() :], listed=True)
            elif self._continues(line, gap=gap):
                inner = _INDENTED.sub("", line, count=1) if self._listed else line
                self._text += ([""] if gap else []) + [inner]
                self._end = number + 1
            else:
                self._finish()
                self._begin(number, line, listed=False)
            gap = False
        self._finish()
        return self._items

    def _continues(self, line: str, *, gap: bool) -> bool:
        if not self._text:
            return False
        return not gap or (self._listed and line.startswith(("  ", "\t")))

    def _begin(self, number: int, text: str, *, listed: bool) -> None:
        self._text, self._listed = [text], listed
        self._first, self._end = number, number + 1

    def _finish(self) -> None:
        text = normal("\n".join(self._text))
        if text:
            self._items.append(Item(text, self._first, self._end))
        self._text = []
