"""Front matter: the few lines of YAML on top of a Markdown file, as far as our keys need it.

Read are scalars (plain, quoted, folded or literal blocks), lists in both notations, and tables.
What stands below a key that nobody asks for is not looked at, so files with more in them work.
"""

from __future__ import annotations

import re

import msgspec

_KEY = re.compile(r"""(?:"([^"]+)"|'([^']+)'|([A-Za-z_][\w.-]*))\s*:(?:\s+(.*))?$""")
_TRUE, _FALSE = ("true", "yes", "on"), ("false", "no", "off")


class FrontMatterError(ValueError):
    """What is wrong, with its line."""


class FrontMatterField(msgspec.Struct, frozen=True):
    """What stands behind a key: in its line, and indented below. `line` counts from 1."""

    key: str
    line: int
    rest: str
    below: tuple[str, ...]

    def wrong(self, wanted: str) -> FrontMatterError:
        """The error that this is not what was wanted."""
        shown = self.rest or " ".join(one.strip() for one in self.below)
        return FrontMatterError(
            f"line {self.line}: {self.key} must be {wanted}, not {shown[:60]!r}"
        )

    def text(self) -> str:
        """As text in one line (a literal block keeps its lines)."""
        if self.rest[:1] in "[{" and self.rest:
            raise self.wrong("text")
        if self.rest[:1] in "|>" and self.rest:
            joint = "\n" if self.rest[0] == "|" else " "
            return joint.join(one.strip() for one in self.below).strip()
        whole = " ".join([self.rest, *(one.strip() for one in self.below)]).strip()
        return _unquoted(whole, self)

    def flag(self) -> bool:
        """As true or false."""
        word = self.text().lower()
        if word not in (*_TRUE, *_FALSE):
            raise self.wrong("true or false")
        return word in _TRUE

    def listed(self) -> tuple[str, ...]:
        """As a list of texts; a single text is a list of one."""
        if self.rest.startswith("["):
            if not self.rest.endswith("]"):
                raise self.wrong("a list in one line, or one item a line behind -")
            items = [one.strip() for one in self.rest[1:-1].split(",")]
        elif self.rest:
            items = [self.rest]
        else:
            items = []
            for one in self.below:
                if not one.strip().startswith("- "):
                    raise self.wrong("a list: one item a line, each behind -")
                items.append(_uncommented(one.strip()[2:].strip()))
        return tuple(_unquoted(one, self) for one in items if one)

    def table(self) -> dict[str, FrontMatterField]:
        """As further keys with their values."""
        if self.rest:
            raise self.wrong("a table: keys in lines of their own, indented")
        return _fields(list(self.below), self.line + 1)


def split(text: str) -> tuple[dict[str, FrontMatterField], str]:
    """The fields of the front matter, and what follows it. Raises FrontMatterError."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != "---":
        raise FrontMatterError("line 1: there is no front matter; begin with a line of three -")
    ends = [number for number, line in enumerate(lines[1:], 1) if line.rstrip() == "---"]
    if not ends:
        raise FrontMatterError("the front matter has no end; close it with a line of three -")
    return _fields(lines[1 : ends[0]], 2), "\n".join(lines[ends[0] + 1 :]).strip()


def _fields(lines: list[str], first: int) -> dict[str, FrontMatterField]:
    real = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    indent = min((_indent(line) for line in real), default=0)
    found: dict[str, FrontMatterField] = {}
    key, line_of, rest = "", first, ""
    below: list[str] = []

    def keep() -> None:
        if key:
            found[key] = FrontMatterField(key, line_of, rest, tuple(below))

    for number, line in enumerate(lines, first):
        if not line.strip() or (line.lstrip().startswith("#") and rest[:1] not in ("|", ">")):
            continue
        if line[: len(line) - len(line.lstrip())].count("\t"):
            raise FrontMatterError(f"line {number}: indent with spaces, not with tabs")
        if key and (_indent(line) > indent or line.strip().startswith("- ")):
            below.append(line)
            continue
        match = _KEY.fullmatch(line.strip())
        if match is None:
            raise FrontMatterError(f"line {number}: expected `key: value`, found {line[:60]!r}")
        keep()
        name = match[1] or match[2] or match[3]
        if name in found:
            raise FrontMatterError(f"line {number}: {name} is there twice")
        key, line_of, rest, below = name, number, _uncommented((match[4] or "").strip()), []
    keep()
    return found


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _uncommented(text: str) -> str:
    if text[:1] in ("'", '"'):
        end = text.find(text[0], 1)
        return text if end < 0 else text[: end + 1] + text[end + 1 :].partition(" #")[0].rstrip()
    return "" if text.startswith("#") else text.partition(" #")[0].rstrip()


def _unquoted(text: str, field: FrontMatterField) -> str:
    if text[:1] not in ("'", '"') or not text:
        return text
    if len(text) < 2 or text[-1] != text[0]:
        raise field.wrong("closed by the quotation mark that opened it")
    inner = text[1:-1]
    if text[0] == "'":
        return inner.replace("''", "'")
    return re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), inner)
