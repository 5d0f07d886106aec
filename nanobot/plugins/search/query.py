"""The words by which an entry is indexed, and the same words in a search query.

Memories are found by their subject, conversations by their words: every word in the query must
occur, no word is ignored, and a word matches by its beginning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from nanobot.plugins.common.terms import SPACELESS, stem, words_of

MOST_CHARS = 200_000
"""Characters of an entry that are indexed: nobody searches the end of a file of a million
characters.
"""
_TERMS_A_ROW = 10_000
"""PostgreSQL counts word positions up to 16,383 in a row."""
_LONGEST = 60
_MOST_WORDS = 32
_SHORTEST_PREFIX = 3
"""A shorter word only matches as a whole: too many words start with the same two letters."""
_END = rf"(?![^\W{SPACELESS}])"
_BEGINNING = rf"(?<![^\W{SPACELESS}])"


class Phrase(msgspec.Struct, frozen=True):
    """Consecutive terms. The last may be a prefix."""

    terms: tuple[str, ...]
    prefix: bool = False


class Wanted(msgspec.Struct, frozen=True):
    """A condition of a search: an entry must contain one of some phrases. `pattern` matches it in a
    folded text.
    """

    phrases: tuple[Phrase, ...]
    pattern: str


def rows_of(text: str) -> list[str]:
    """The terms of an entry, split into its rows of the index; empty if it has no word."""
    terms = list(_terms(text[:MOST_CHARS]))
    return [" ".join(terms[at : at + _TERMS_A_ROW]) for at in range(0, len(terms), _TERMS_A_ROW)]


def parsed(query: str) -> list[Wanted]:
    """The query: words, and phrases in double quotes."""
    wanted: list[Wanted] = []
    for number, part in enumerate(query.replace("“", '"').replace("”", '"').split('"')):
        if number % 2:
            wanted += _phrase(part)
        else:
            wanted += (_word(word, spaceless=spaceless) for word, spaceless in words_of(part))
    return list(dict.fromkeys(wanted))[:_MOST_WORDS]


def for_sqlite(wanted: Sequence[Wanted], places: Sequence[str] = ()) -> str:
    """The expression for FTS5; `places`: only in one of these."""
    each = [[_sqlite_phrase(phrase) for phrase in one.phrases] for one in wanted]
    if places:
        each.append([f'"{place}"' for place in places])
    return " AND ".join(f"({' OR '.join(phrases)})" for phrases in each)


def for_postgresql(wanted: Sequence[Wanted]) -> str:
    """The expression for to_tsquery."""
    each = [[_tsquery_phrase(phrase) for phrase in one.phrases] for one in wanted]
    return " & ".join(f"({' | '.join(phrases)})" for phrases in each)


def _terms(text: str) -> Iterator[str]:
    for word, spaceless in words_of(text):
        if spaceless:
            yield from (word[at : at + 2] for at in range(len(word)))
        else:
            yield word[:_LONGEST]


def _word(word: str, *, spaceless: bool) -> Wanted:
    if spaceless:
        pairs = tuple(word[at : at + 2] for at in range(len(word) - 1)) or (word,)
        return Wanted((Phrase(pairs, prefix=len(word) == 1),), re.escape(word))
    word = word[:_LONGEST]
    if len(word) < _SHORTEST_PREFIX:
        return Wanted((Phrase((word,)),), rf"{_BEGINNING}{re.escape(word)}{_END}")
    # "meetings" matches "meeting", and "cities" matches "city".
    forms = dict.fromkeys([word, stem(word)])
    phrases = tuple(Phrase((form,), prefix=True) for form in forms)
    shapes = "|".join(re.escape(form) for form in forms)
    return Wanted(phrases, rf"{_BEGINNING}(?:{shapes})[^\W{SPACELESS}]*")


def _phrase(text: str) -> list[Wanted]:
    terms: list[str] = []
    words = list(words_of(text))
    for number, (word, spaceless) in enumerate(words):
        if not spaceless:
            terms.append(word[:_LONGEST])
            continue
        # Its last character is a separate term unless another follows, as one may here.
        ends = 0 if number < len(words) - 1 or len(word) == 1 else 1
        terms += (word[at : at + 2] for at in range(len(word) - ends))
    if not terms:
        return []
    prefix = words[-1][1] and len(words[-1][0]) == 1
    shape = r"[\W_]*".join(re.escape(word) for word, _ in words)
    begin = "" if words[0][1] else _BEGINNING
    return [Wanted((Phrase(tuple(terms), prefix=prefix),), f"{begin}{shape}")]


def _sqlite_phrase(phrase: Phrase) -> str:
    return f'"{" ".join(phrase.terms)}"' + (" *" if phrase.prefix else "")


def _tsquery_phrase(phrase: Phrase) -> str:
    return " <-> ".join(phrase.terms) + (":*" if phrase.prefix else "")
