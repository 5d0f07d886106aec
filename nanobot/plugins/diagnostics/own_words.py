"""Keeps of a text only the words that are nanobot's own.

A log line or a finding is a sentence of the program with values in it, and a value may be anything:
a name, an id, a file, a message. So the sentences are read from the program's own source. Text that
matches one is kept, and each value in it is judged in the same way. All other text is replaced by a
tag. The same text has the same tag within one archive; the key of the tags is never stored.
"""

from __future__ import annotations

import builtins
import errno
import os
import re
import secrets
from collections.abc import Mapping
from hashlib import blake2b
from http import HTTPStatus

import msgspec

from nanobot.plugins.diagnostics.sentences import Source

_MOST_TEXT = 2_000
_DEEPEST = 5
_LEAST_LETTERS = 6
_LONGEST_NUMBER = 3
_WORD = re.compile(r"\w+")
_SEPARATOR = re.compile(r"(; |: |, | \(|\)(?=\W|$)|\. |\.$| - |[\[\]\"'`])")
_PLAIN_NUMBER = re.compile(r"[+-]?[\d,]*\.?\d+(?:e[+-]?\d+)?")
_MEASURE = re.compile(r"[+-]?[\d,]*\.?\d+ ?(?:ms|s|min|h|%|[kMGT]?B|tokens?|bytes?)")
_TAGS = re.compile(r"(?:<[0-9a-f]{6}>[^\w<]*){2,}")
_SYSTEM = frozenset(
    {
        *(os.strerror(number) for number in errno.errorcode),
        *(status.phrase for status in HTTPStatus),
        *("database is locked", "disk I/O error", "database disk image is malformed"),
        *("unable to open database file", "attempt to write a readonly database"),
        *("file is not a database", "database or disk is full", "no such table"),
        *(name for name, kind in vars(builtins).items() if isinstance(kind, type)),
        *("None", "True", "False"),
    }
)


class _Match(msgspec.Struct, frozen=True):
    """A sentence that fits a text: its parts, the values between them, and which are numbers."""

    parts: tuple[str, ...]
    values: tuple[str, ...]
    numeric: tuple[bool, ...]
    letters: int


class OwnWords:
    """Replaces in a text whatever is not nanobot's own. `known` are further texts that may be
    shown, each with the text to show for it."""

    def __init__(self, source: Source, known: Mapping[str, str]) -> None:
        self._source = source
        self._known = dict(known)
        self._key = secrets.token_bytes(16)
        self._longest_known = sorted(
            (text for text in self._known if len(text) >= _LEAST_LETTERS and "/" in text),
            key=len,
            reverse=True,
        )

    def __call__(self, text: str) -> str:
        whole = " ".join(text[:_MOST_TEXT].split())
        return _TAGS.sub(_first_tag, self._judged(whole, 0))

    def tag(self, text: str) -> str:
        """The tag of a text."""
        digest = blake2b(text.encode("utf-8", "replace"), key=self._key, digest_size=3)
        return f"<{digest.hexdigest()}>"

    def name(self, text: str) -> str:
        """A single name: itself if it is known, otherwise its tag."""
        return self._known.get(text, text if text in self._source.words else self.tag(text))

    def knows(self, text: str) -> bool:
        """Whether a text may be shown unchanged."""
        return self._known.get(text) == text

    def _judged(self, text: str, depth: int) -> str:
        if not text or _is_harmless(text):
            return text
        if (shown := self._known.get(text)) is not None:
            return shown
        if text in self._source.words or text in _SYSTEM:
            return text
        if depth < _DEEPEST:
            found = self._sentence(text)
            if found is not None:
                return self._filled(found, depth)
            if (pieces := self._pieces(text, depth)) is not None:
                return pieces
        return self.tag(text)

    def _filled(self, found: _Match, depth: int) -> str:
        written = [found.parts[0]]
        for value, numeric, part in zip(found.values, found.numeric, found.parts[1:], strict=True):
            is_number = numeric and _PLAIN_NUMBER.fullmatch(value.strip())
            written.append(value if is_number else self._judged_value(value, depth))
            written.append(part)
        return "".join(written)

    def _judged_value(self, value: str, depth: int) -> str:
        bare = value.strip()
        return value.replace(bare, self._judged(bare, depth + 1), 1) if bare else value

    def _pieces(self, text: str, depth: int) -> str | None:
        """The text in smaller pieces, if it has any and one of them is known."""
        for place in self._longest_known:  # a path of the home, with more behind it
            if text.startswith(f"{place}/"):
                return f"{self._known[place]}/{self.tag(text)}"
        pieces = _SEPARATOR.split(text)
        if len(pieces) == 1:
            return None
        judged = [
            piece if place % 2 else self._judged_value(piece, depth)
            for place, piece in enumerate(pieces)
        ]
        kept = any(
            (old.strip() and old == new and not _PLAIN_NUMBER.fullmatch(old))
            or (old != new and not _is_tag(new.strip()))
            for old, new in zip(pieces[::2], judged[::2], strict=True)
        )
        return "".join(judged) if kept else None

    def _sentence(self, text: str) -> _Match | None:
        """The sentence of the source that says most of a text."""
        best: _Match | None = None
        for sentence in self._source.candidates(_WORD.findall(text)):
            if best is not None and sentence.letters <= best.letters:
                continue
            values = _between(text, sentence.parts)
            if values is not None:
                best = _Match(sentence.parts, values, sentence.numeric, sentence.letters)
        return best if best is not None and best.letters >= _LEAST_LETTERS else None


def _between(text: str, parts: tuple[str, ...]) -> tuple[str, ...] | None:
    """The values between these parts; None if the text does not consist of them in this order."""
    if len(parts) == 1:
        return () if text == parts[0] else None
    first, *middle, last = parts
    end = len(text) - len(last)
    if not text.startswith(first) or not text.endswith(last) or end < len(first):
        return None
    values, at = [], len(first)
    for part in middle:
        found = text.find(part, at, end)
        if found < 0:
            return None
        values.append(text[at:found])
        at = found + len(part)
    return (*values, text[at:end])


def _is_harmless(text: str) -> bool:
    """Punctuation, short numbers, and measures: ids are longer, and have no unit."""
    if not any(character.isalnum() for character in text):
        return True
    digits = sum(character.isdigit() for character in text)
    if _PLAIN_NUMBER.fullmatch(text):
        return digits <= _LONGEST_NUMBER
    return _MEASURE.fullmatch(text) is not None


def _is_tag(text: str) -> bool:
    return re.fullmatch(r"<[0-9a-f]{6}>", text) is not None


def _first_tag(found: re.Match[str]) -> str:
    """Several tags one after another say no more than the first."""
    return f"{found[0][:8]} "
