"""Text as it may be taken in, stored and shown."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, AnyStr, TypeAlias, cast

import msgspec

MAX_TEXT = 1_000_000
"""Characters of one message; longer ones are refused with a word to the sender."""

SENTENCE, OWN, SHAPE, WORDS = "sentence", "own", "shape", "words"
"""What the declaration of a field can say under `extra`: its text is a `Sentence`; the field of
that name has its `Spans` of nanobot's own words; its JSON object has the fields of that type; its
text is one of those words of nanobot's, which people see translated and programs do not."""

Sentence: TypeAlias = Annotated[str, msgspec.Meta(extra={SENTENCE: True})]
"""A text that nanobot says to people, from its own code: `nanobot.texts` translates it. What
people, models and platforms write is never declared so."""

Spans: TypeAlias = tuple[tuple[int, int], ...]
"""Parts of a text, each with its start and end."""

OwnText: TypeAlias = Annotated[str, msgspec.Meta(extra={OWN: "own"})]
"""A text in a struct whose field `own` has the parts that are nanobot's own words."""

# C0 and C1 controls but for tab and newline, and halves of surrogate pairs: no chat needs them,
# and the store, the model's JSON or a terminal would trip over them.
_UNWANTED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


class _Pattern:
    """What `pattern` gives: a method that was asked for once is found without the way over here."""

    def __init__(self, compiled: Callable[[], object]) -> None:
        self._compiled = compiled

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._compiled(), name)
        setattr(self, name, value)
        return value


def pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """A regular expression that is compiled by its first use: for what most processes never look
    for. Wrong ones raise there."""
    return cast("re.Pattern[AnyStr]", _Pattern(partial(re.compile, text, flags)))


def without_controls(text: str) -> str:
    """The text without control characters and broken surrogates, lines ended by newlines."""
    return _UNWANTED.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def around(text: str, *pieces: str) -> Spans:
    """The parts of a text around these pieces of it, which are in this order."""
    spans, at = [], 0
    for piece in filter(None, pieces):
        found = text.find(piece, at)
        if found >= 0:
            spans.append((at, found))
            at = found + len(piece)
    return tuple((start, end) for start, end in (*spans, (at, len(text))) if start < end)


_WORD = pattern(r"(?!nanobot\b|systemctl\b)[a-z][a-z'-]*(?=[ ,;?!]|\.?$)")


def capitalized(text: str) -> str:
    """The text of an error as a chat shows it: with a capital, unless it begins with a name."""
    return text[:1].upper() + text[1:] if _WORD.match(text) else text


_SENTENCE_END = re.compile(r"(?<=[.!?…])\s|(?<=[。！？])|\n")


def first_sentence(text: str, limit: int) -> str:
    """The first sentence of a text in one line of at most so many characters, cut at a word."""
    sentence = _SENTENCE_END.split(text.strip()[: 4 * limit], maxsplit=1)[0]
    line = " ".join(sentence.split())
    if len(line) <= limit:
        return line
    words = line[:limit].rpartition(" ")[0]
    return f"{words if len(words) > limit // 2 else line[: limit - 1]}…"


def title_of(text: str) -> str:
    """The title that a conversation has from its first message."""
    return first_sentence(text, 60)


MAX_RESULT_CHARS = 10_000


# Lone surrogates cannot be encoded as UTF-8, and PostgreSQL stores no NUL in text.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def clean(text: str) -> str:
    """The same text with every character that no store could hold replaced by U+FFFD."""
    if text.isascii():  # a search by the pattern takes a hundred times as long
        return text.replace("\0", "\ufffd")
    return _UNSTORABLE.sub("\ufffd", text)


def quoted(text: str, limit: int = 200) -> str:
    """Text from outside as a message may show it: one line, quoted, storable, not long."""
    short = text if len(text) <= limit else text[:limit] + "..."
    return '"' + clean(short).translate({10: "\\n", 13: "\\r", 9: "\\t"}) + '"'


def shorten(text: str, limit: int, rest: str, already_dropped: int = 0) -> str:
    """At most `limit` characters: head and tail, and between them how much is missing.

    `already_dropped` counts what the caller left out in the middle of `text`.
    """
    if len(text) <= limit and not already_dropped:
        return text
    room = max(limit - 120 - len(rest), 2)
    head, tail = text[: room // 2], text[max(len(text) - room // 2, room // 2) :]
    missing = len(text) - len(head) - len(tail) + already_dropped
    return f"{head}\n\n[... {missing:,} characters left out here. {rest}]\n\n{tail}"
