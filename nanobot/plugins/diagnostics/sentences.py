"""The sentences of nanobot's own source: every text in it, with gaps where values are filled in."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import msgspec

_WORD = re.compile(r"\w+")
_NUMERIC = re.compile(r"[,_]?(?:\.\d+)?[fgdeEG%,]")
_SPACES = re.compile(r"\s+")
_LONGEST = 600
_NAMED = re.compile(
    r'\b(?:about|level|state|kind|unit|error|code|outcome|stage)(?: = |=|: )"([a-z][a-z_ ]*)"'
)
_ABOUT = re.compile(r'\babout\b[^\n"]*"([a-z][a-z ]*)"')
_TOOL = re.compile(r'Tool\(\s*name="([a-z_]+)"')
_ERROR_CLASS = re.compile(r"^class (\w+(?:Error|Exception))\b", re.MULTILINE)
_ONE = r"""(?:[fFrR]?"(?:[^"\\\n]|\\.)*"|[fFrR]?'(?:[^'\\\n]|\\.)*')"""
_LITERALS = re.compile(
    rf"""[rRbBfF]*\"{{3}}(?s:.*?)\"{{3}}|\#[^\n]*|(?P<literals>(?:{_ONE}\s*)+)"""
)
_PACKAGES = ("nanobot", "nanobot_channels")


class Sentence(msgspec.Struct, frozen=True):
    """A text of the source. `parts` are the words between its gaps; `numeric`: which of the gaps
    have the format of a number."""

    parts: tuple[str, ...]
    numeric: tuple[bool, ...]
    letters: int


class Source:
    """All sentences of some packages, found by their words. `words`: single words of its own, such
    as the names of states."""

    def __init__(self, files: Sequence[Path]) -> None:
        self.words: set[str] = set()
        self._by_word: dict[str, list[Sentence]] = {}
        seen: set[tuple[str, ...]] = set()
        for file in files:
            with suppress(OSError, UnicodeDecodeError):
                source = file.read_text("utf-8")
                for pattern in (_ERROR_CLASS, _NAMED, _ABOUT, _TOOL):
                    self.words.update(pattern.findall(source))
                for gapped, numeric in _texts(source):
                    parts = tuple(_SPACES.sub(" ", part) for part in gapped)
                    if parts not in seen:
                        seen.add(parts)
                        self._add(parts, numeric)

    def candidates(self, words: Sequence[str]) -> Iterator[Sentence]:
        """The sentences that a text of these words may be."""
        for word in dict.fromkeys(words):
            yield from self._by_word.get(word, ())

    def _add(self, parts: tuple[str, ...], numeric: tuple[bool, ...]) -> None:
        letters = sum(character.isalpha() for part in parts for character in part)
        whole = max(_whole_words(parts), key=len, default="")
        if whole and letters:
            self._by_word.setdefault(whole, []).append(Sentence(parts, numeric, letters))


@cache
def own_source() -> Source:
    """The source of this program. Takes a second: use it on a thread."""
    folders = [
        Path(found.origin).parent
        for package in _PACKAGES
        if (found := find_spec(package)) is not None and found.origin
    ]
    files = [file for folder in folders for file in sorted(folder.rglob("*.py"))]
    return Source([file for file in files if "testing" not in file.parts])


def _texts(source: str) -> Iterator[tuple[tuple[str, ...], tuple[bool, ...]]]:
    """The texts of two words and more in a module, without docstrings and comments.

    Only the literals are parsed: parsing whole modules takes eight times as long.
    """
    for found in _LITERALS.finditer(source):
        literals = found["literals"]
        if literals is None or " " not in literals:
            continue
        with suppress(SyntaxError, ValueError):
            node = ast.parse(f"({literals})", mode="eval").body
            if isinstance(node, ast.JoinedStr):
                yield _of_parts(node)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value
                if " " in text and len(text) <= _LONGEST:
                    yield _of_text(text)


def _of_parts(node: ast.JoinedStr) -> tuple[tuple[str, ...], tuple[bool, ...]]:
    """The parts of an f-string."""
    parts, numeric = [""], list[bool]()
    for value in node.values:
        if isinstance(value, ast.Constant):
            parts[-1] += str(value.value)
        elif isinstance(value, ast.FormattedValue):
            parts.append("")
            numeric.append(_is_numeric(value.format_spec))
    return _joined(parts, numeric)


def _is_numeric(spec: ast.expr | None) -> bool:
    if not isinstance(spec, ast.JoinedStr) or len(spec.values) != 1:
        return False
    (only,) = spec.values
    return isinstance(only, ast.Constant) and _NUMERIC.fullmatch(str(only.value)) is not None


def _of_text(text: str) -> tuple[tuple[str, ...], tuple[bool, ...]]:
    """The parts of a text with {} for its values, or of a plain text."""
    if "{" not in text:
        return (text,), ()
    parts, numeric = [""], list[bool]()
    try:
        for literal, field, spec, _ in string.Formatter().parse(text):
            parts[-1] += literal
            if field is not None:
                parts.append("")
                numeric.append(_NUMERIC.fullmatch(spec or "") is not None)
    except ValueError:
        return (text,), ()
    return _joined(parts, numeric)


def _joined(parts: list[str], numeric: list[bool]) -> tuple[tuple[str, ...], tuple[bool, ...]]:
    """Two gaps with nothing between them are one."""
    kept, kinds = [parts[0]], list[bool]()
    for place, (part, kind) in enumerate(zip(parts[1:], numeric, strict=True)):
        if place and not kept[-1]:
            kept[-1], kinds[-1] = part, False
        else:
            kept.append(part)
            kinds.append(kind)
    return tuple(kept), tuple(kinds)


def _whole_words(parts: tuple[str, ...]) -> Iterator[str]:
    """The words that no value can continue."""
    for place, part in enumerate(parts):
        found = list(_WORD.finditer(part))
        for word in found:
            touches_before = place > 0 and word.start() == 0
            touches_after = place < len(parts) - 1 and word.end() == len(part)
            if not touches_before and not touches_after:
                yield word[0]
