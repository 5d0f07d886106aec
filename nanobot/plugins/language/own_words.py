"""Which words of an answer in a chat are nanobot's own, and which are data of its result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nanobot.operations.operation import Operation
from nanobot.operations.rendering import as_text
from nanobot.plugins.common.translation.results import data_in
from nanobot.text import Spans, pattern

_MOST = 200_000
"""Characters of data; an answer with more of them counts as data."""
_CELLS = pattern(r"- `[^`\n]*` ?|: |, ")


def own_words_of(operation: Operation, text: str, result: object) -> Spans:
    """The same of what an operation gave, whose type says what of it people, models or machines
    wrote."""
    return own_words(operation, text, data_in(result, operation.returns))


def own_words(operation: Operation, text: str, data: Sequence[str]) -> Spans:
    """The parts of a rendered result that are nanobot's own words: lines that are not in the data.
    In lists, and in fields one by line, each value counts for itself."""
    known = "\0".join(_squeezed(each) for each in data if each)
    if len(known) > _MOST:
        return ()
    pieces = _values(text) if operation.text is as_text else _lines(text)
    return tuple((start, end) for start, end in pieces if _squeezed(text[start:end]) not in known)


def _lines(text: str) -> Iterator[tuple[int, int]]:
    at = 0
    for line in text.split("\n"):
        if line.strip():
            yield at, at + len(line)
        at += len(line) + 1


def _values(text: str) -> Iterator[tuple[int, int]]:
    for start, end in _lines(text):
        at = start
        for joint in _CELLS.finditer(text, start, end):
            if at < joint.start():
                yield at, joint.start()
            at = joint.end()
        if at < end:
            yield at, end


def _squeezed(text: str) -> str:
    """The text on one line, as the renderings of results have it, without the sign of a cut."""
    return " ".join(text.split()).removesuffix("…")
