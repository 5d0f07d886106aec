"""The terms of a query to the index of memories."""

from __future__ import annotations

from collections.abc import Iterator

from nanobot.plugins.common.terms import MAX_TERMS, STOP, STOP_BIGRAMS, stem, words_of


def query_terms(query: str) -> list[str]:
    """Without duplicates; a term that ends in `*` matches as a prefix."""
    terms = dict.fromkeys(_each(query))
    telling = [term for term in terms if term not in STOP and term not in STOP_BIGRAMS]
    return (telling or list(terms))[:MAX_TERMS]


def _each(query: str) -> Iterator[str]:
    for word, spaceless in words_of(query):
        if not spaceless:
            yield word if word in STOP else stem(word)
        elif len(word) == 1:
            yield f"{word}*"
        else:
            yield from (word[at : at + 2] for at in range(len(word) - 1))
