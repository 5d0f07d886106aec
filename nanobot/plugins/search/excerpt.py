"""Finds the sentence of a text that matches the search words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nanobot.plugins.common.terms import without_accents
from nanobot.plugins.search.query import Wanted
from nanobot.text import pattern

_BEFORE, _AFTER = 120, 180
"""The most characters around the match: a sentence may be a page long."""
_MOST_MATCHES = 50
_ENDS = pattern(r"[.!?](?=\s)|[。！？\n]")


class Excerpt(NamedTuple):
    """A part of a text: `match` with the text before and after it."""

    before: str
    match: str
    after: str


def excerpt(text: str, wanted: Sequence[Wanted]) -> Excerpt:
    """The first sentence with the most matching words, or the beginning of the text if no word
    matches literally.
    """
    folded, places = _folded(text)
    spans = [
        (places[begin], places[end - 1] + 1)
        for begin, end in _matches(folded, [one.pattern for one in wanted])
    ]
    if not spans:
        return Excerpt("", "", _joined(text[:_AFTER], cut_after=len(text) > _AFTER))
    patterns = [re.compile(one.pattern) for one in wanted]

    def score(span: tuple[int, int]) -> int:
        begin, end = _sentence(text, span)
        sentence, _ = _folded(text[begin:end])
        return sum(pattern.search(sentence) is not None for pattern in patterns)

    best = max(sorted(spans)[:_MOST_MATCHES], key=score)
    begin, end = _sentence(text, best)
    cut_before = begin > 0 and begin == best[0] - _BEFORE
    cut_after = end < len(text) and end == best[1] + _AFTER
    before = _joined(text[begin : best[0]].lstrip(), cut_before=cut_before)
    after = _joined(text[best[1] : end].rstrip(), cut_after=cut_after)
    return Excerpt(before, _joined(text[best[0] : best[1]]), after)


def _matches(folded: str, patterns: Sequence[str]) -> Iterator[tuple[int, int]]:
    for wanted in patterns:
        for number, match in enumerate(re.finditer(wanted, folded)):
            if number == _MOST_MATCHES:
                break
            if match.end() > match.start():
                yield match.span()


def _folded(text: str) -> tuple[str, Sequence[int]]:
    """The text without accents and in lower case, and the original position of each character."""
    if text.isascii():
        return text.lower(), range(len(text))
    parts: list[str] = []
    places: list[int] = []
    for at, character in enumerate(text):
        plain = unicodedata.normalize("NFKD", character.casefold())
        whole = unicodedata.normalize("NFKC", without_accents(plain))
        parts.append(whole)
        places += [at] * len(whole)
    return "".join(parts), places


def _sentence(text: str, span: tuple[int, int]) -> tuple[int, int]:
    first = max(span[0] - _BEFORE, 0)
    ends = [match.end() for match in _ENDS.finditer(text, first, span[0])]
    following = _ENDS.search(text, span[1], min(span[1] + _AFTER + 1, len(text)))
    last = min(span[1] + _AFTER, len(text)) if following is None else following.end()
    return (ends[-1] if ends else first), last


def _joined(text: str, *, cut_before: bool = False, cut_after: bool = False) -> str:
    """The text on one line. Spaces at its ends are kept, as it may be one of three parts."""
    line = re.sub(r"\s+", " ", text)
    return f"{'…' if cut_before else ''}{line}{'…' if cut_after else ''}"
