"""The text in file names: untrusted content can hide there too."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from nanobot.text import pattern

MOST_WORDS = 5
"""Untrusted names with at most this many words in total are too short to contain instructions."""

INSTALLED = frozenset({"node_modules", ".venv", "venv", "site-packages", "__pycache__", "target"})
"""Folders of installed programs: their code is run, not read."""

REPOSITORY = ".git"
ORDINARY = frozenset(
    {
        *("HEAD", "ORIG_HEAD", "FETCH_HEAD", "COMMIT_EDITMSG", "MERGE_MSG", "config", "index"),
        *("description", "packed-refs", "info", "exclude", "hooks", "objects", "refs", "logs"),
        *("heads", "tags", "pack", "remotes", "origin", "main", "master", "branches", "stash"),
        *INSTALLED,
        REPOSITORY,
    }
)
"""Names chosen by git and installers, which carry no text."""

# Suffixes of known file types. Any other suffix may be a word.
_KINDS = pattern(
    r"\.(?:cpython-\d+(?:\.opt-\d)?\.pyc|tar\.(?:gz|xz|bz2)|d\.ts|sample"
    r"|[ch]|cc|cpp|css|csv|docx?|epub|gif|gz|html?|ico|ics|ini|ipynb|java|jpe?g|jsx?|json|jsonl"
    r"|key|lock|log|lua|md|mjs|mp[34]|odt|ogg|opus|pdf|php|png|pptx?|py|pyc|rb|rs|rst|sh|sql"
    r"|sqlite|svg|toml|tsx?|tsv|txt|wasm|wav|webm|webp|xlsx?|xml|ya?ml|zip)$",
    re.IGNORECASE,
)
_LETTERS = pattern(r"[^\W\d_]+")
_NUMBERED = pattern(r"[A-Za-z\d]*\d[A-Za-z\d]*")
_SIGNS = pattern(r"[^\w\s]{2,}|[^\w\s\x20-\x7e]|\s{2,}|[^\S ]")
_WORD_LETTERS, _LONGEST_WORD = 8, 12
_SPELT_LETTERS = 4
"""So many letters count as a word if they are separate, or if words are written without spaces."""

# The escapes that programs use for unusual characters in names.
_OCTALS = pattern(r"(?:\\[0-3][0-7]{2})+")
_BYTES = pattern(r"(?:\\x[0-9a-fA-F]{2}|%[0-9a-fA-F]{2})+")
_POINTS = pattern(r"\\u([0-9a-fA-F]{4})|\\U([0-9a-fA-F]{8})")
_OTHER = pattern(r"\\[abefnrtv\\\"' ]")
_ENDS = 24
"""A truncated name is recognized by this many characters of either end."""
_SHORT = 6
_MOST_NUMBERS = 2_000


def words_of(name: str) -> float:
    """The number of words in a name. Text without spaces is counted by its letters; text spelled in
    digits, single letters or signs is counted by those.
    """
    if name in ORDINARY:
        return 0.0
    said = unicodedata.normalize("NFKC", _KINDS.sub("", name))
    total, spelt = 0.0, 0
    for word in _LETTERS.findall(_NUMBERED.sub(" ", said)):
        if len(word) == 1 and word.isascii():
            spelt += 1
        elif word.isascii():
            letters = _WORD_LETTERS if len(word) <= _LONGEST_WORD else _SPELT_LETTERS
            total += math.ceil(len(word) / letters)
        else:
            total += max(1.0, len(word) / 2)
    digits = sum(len(word) for word in _NUMBERED.findall(said))
    signs = sum(len(run.encode("utf-8", "surrogatepass")) for run in _SIGNS.findall(said))
    return total + spelt / _SPELT_LETTERS + (digits + signs) / _WORD_LETTERS


def say_much(names: Iterable[str], text: str, already: float = 0.0) -> bool:
    """Whether the names that occur in a text contain more than MOST_WORDS words, including the
    words counted `already`.
    """
    if already > MOST_WORDS:
        return True
    shown, total = ShownNames(text), already
    for name in names:
        if name in shown:
            total += words_of(name)
            if total > MOST_WORDS:
                return True
    return False


class ShownNames:
    """A text that may contain file names in any form that programs write: quoted, escaped, in
    columns, in composed or decomposed Unicode, or in bytes that are not text.
    """

    def __init__(self, text: str) -> None:
        self._text = f"{text}\n{_unescaped(text)}"
        self._plain = f"\n{_plain(text)}\n{_plain(_unescaped(text))}"
        self._parts = {self._plain[at : at + _SHORT] for at in range(len(self._plain))}

    def __contains__(self, name: str) -> bool:
        if name in self._text:
            return True
        escaped = {_plain(_unescaped(name))} if "\\" in name or "%" in name else set()
        return any(self._shows(plain) for plain in {_plain(name), *escaped})

    def _shows(self, plain: str) -> bool:
        if len(plain) < _SHORT:
            return False
        begin, end = plain[:_ENDS], plain[-_ENDS:]
        return (begin[:_SHORT] in self._parts and begin in self._plain) or (
            end[-_SHORT:] in self._parts and end in self._plain
        )


def numbers_tell(paths: Iterable[str], text: str) -> float:
    """The number of words that the file metadata in a text could encode (sizes, modes, times),
    which untrusted content may have chosen as well.
    """
    told = 0.0
    for path in islice((path for path in paths if path.rpartition("/")[2] in text), _MOST_NUMBERS):
        told += 1 / _WORD_LETTERS
        try:
            status = Path(path).lstat()
        except (OSError, ValueError):
            continue
        for moment in (status.st_mtime_ns, status.st_atime_ns):
            seconds, parts = divmod(moment, 1_000_000_000)
            if f"{parts:09d}".rstrip("0") in text and parts:
                told += 1.0
            elif str(seconds) in text:
                told += 0.5
    return told


def _unescaped(text: str) -> str:
    def octals(match: re.Match[str]) -> str:
        return _decoded(bytes(int(each, 8) for each in match[0].split("\\")[1:]))

    def hexes(match: re.Match[str]) -> str:
        return _decoded(bytes.fromhex(re.sub(r"\\x|%", "", match[0])))

    def point(match: re.Match[str]) -> str:
        number = int(match[1] or match[2], 16)
        return chr(number) if number < 0x11_0000 else " "

    text = _POINTS.sub(point, _BYTES.sub(hexes, _OCTALS.sub(octals, text)))
    return _OTHER.sub(" ", text)


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "ignore")


def _plain(text: str) -> str:
    """Only letters and digits."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))
