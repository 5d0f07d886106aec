"""Formatted text without a platform: styled spans over plain text, and its division into parts.

An adapter converts a `Rich` to its platform's format. Offsets count code points; an adapter that
needs UTF-16 units or bytes converts them, and gives `split` its own measure.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from enum import StrEnum
from itertools import accumulate

import msgspec

from nanobot.text import pattern

# The last two reverse the direction of the text that follows, up to places far from the cause.
_UNSAFE = pattern("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff\ufff9-\ufffb\u202d\u202e]")
# Direction marks and invisible characters, except the joiners that some scripts and emoji need.
_DECEIVING = pattern("[\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\U000e0000-\U000e007f]")
_NOT_IN_NAMES = pattern(r'[<>:"|?*\\/]')
_SURROGATES = pattern("[\ud800-\udfff]+")
_SENTENCE_END = pattern(r"[.!?…][\"'”’)\]]*(?=\s)|[。！？]")
_ZERO_WIDTH_JOINER = "\u200d"
_FLAG_LETTERS = "".join(map(chr, range(0x1F1E6, 0x1F1FF + 1)))


class Style(StrEnum):
    """The style of a span. CODE and PRE contain no other style, QUOTE no other QUOTE."""

    BOLD = "bold"
    ITALIC = "italic"
    STRIKE = "strike"
    CODE = "code"
    PRE = "pre"
    LINK = "link"
    QUOTE = "quote"


class Span(msgspec.Struct, frozen=True):
    """`text[start:end]` in one style. `value` is a link's target or a code block's language."""

    start: int
    end: int
    style: Style
    value: str = ""


class Rich(msgspec.Struct, frozen=True):
    """Text with its spans, which lie inside it, are never empty, and start in ascending order."""

    text: str
    spans: tuple[Span, ...] = ()


def with_targets(rich: Rich, limit: int, measure: Callable[[str], int] = len) -> str:
    """The text with link targets after the links, or unchanged if that is too long."""
    pieces = []
    at = 0
    for span in rich.spans:
        if span.style is Style.LINK and span.value != rich.text[span.start : span.end]:
            pieces += [rich.text[at : span.end], f" ({span.value})"]
            at = span.end
    text = "".join([*pieces, rich.text[at:]])
    return text if measure(text) <= limit else rich.text


def clean(text: str) -> str:
    """The text in the form that every platform accepts.

    Line ends become line feeds. Control characters (except tab) and overrides of the writing
    direction, which platforms refuse or drop, are removed. Surrogate pairs are joined; lone
    surrogates, which UTF-8 cannot encode, become U+FFFD.
    """
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if _SURROGATES.search(text):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return _UNSAFE.sub("", text)


def one_line(text: str) -> str:
    """The text, cleaned, without line ends and with single blanks."""
    return " ".join(clean(text).split())


def clipped(text: str, most: int) -> str:
    """At most `most` characters, the last of them an ellipsis if there were more."""
    if len(text) <= most:
        return text
    end = most - 1
    while end > most // 2 and not is_boundary(text, end):
        end -= 1
    return text[:end].rstrip() + "…"


def label(text: str, most: int = 64) -> str:
    """A name for display: one line, cleaned, without characters that reverse or hide the text
    around it.
    """
    text = _DECEIVING.sub("", clean(text[: 4 * most]))
    return clipped(" ".join(text.split()), most)


def file_name(text: str) -> str:
    """A person's file name, made safe for use in a folder; "" if nothing is left of it.

    One path component without a leading dot, of at most 60 characters (240 bytes); its suffix is
    kept.
    """
    name = label(text[-300:].replace("\\", "/").rstrip("/").rpartition("/")[2], 300)
    name = _NOT_IN_NAMES.sub("_", name).strip(". ")
    stem, dot, suffix = name.rpartition(".")
    if len(name) <= 60:
        return name
    if not dot or len(suffix) > 10:
        return name[:60].strip(". ")
    return f"{stem[: 59 - len(suffix)].rstrip('. ')}.{suffix}"


def utf16_units(text: str) -> int:
    """Length in UTF-16 code units, the measure of Telegram and of everything from JavaScript."""
    if text.isascii():
        return len(text)
    return len(text.encode("utf-16-le")) // 2


def is_boundary(text: str, at: int) -> bool:
    """Whether dividing the text here keeps visible characters whole.

    An approximation of Unicode's UAX 29 that errs towards not dividing: combining marks, joiners,
    modifiers and tags stay with the preceding character; flags and Hangul syllables stay whole.
    """
    if at <= 0 or at >= len(text):
        return True
    before, after = text[at - 1], text[at]
    if before == _ZERO_WIDTH_JOINER or _extends(after):
        return False
    if _is_flag_letter(before) and _is_flag_letter(after):
        run = at - len(text[:at].rstrip(_FLAG_LETTERS))
        return run % 2 == 0
    return not (_is_jamo(before) and _is_jamo(after))


def _extends(char: str) -> bool:
    return (
        unicodedata.category(char) in {"Mn", "Me", "Mc"}
        or char == _ZERO_WIDTH_JOINER
        or "\U0001f3fb" <= char <= "\U0001f3ff"
        or "\U000e0020" <= char <= "\U000e007f"
        or "\uff9e" <= char <= "\uff9f"
    )


def _is_flag_letter(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _is_jamo(char: str) -> bool:
    return (
        "\u1100" <= char <= "\u11ff" or "\ua960" <= char <= "\ua97f" or "\ud7b0" <= char <= "\ud7fb"
    )


def split(
    rich: Rich, limit: int, *, measure: Callable[[str], int] = len, max_spans: int = 1000
) -> list[Rich]:
    """Divide into parts of at most `limit` by `measure` and at most `max_spans` spans each.

    `measure` must be additive: the length of a text is the sum of its characters' lengths, and no
    character is longer than `limit`. A part ends at a paragraph, else a line, a sentence, a word,
    or a visible character; only a single visible character beyond the limit is torn. A part does
    not end within a span, unless the span is a block of code, a quote or long: those continue in
    the next part. Only white space at an end is dropped, and none that indents code. No part is
    blank: a text of white space and invisible characters has no parts.
    """
    if measure(rich.text) <= limit and len(rich.spans) <= max_spans:
        whole = _part(rich, rich.spans, 0, len(rich.text), max_spans)
        return [whole] if whole else []
    parts = []
    start = at = 0
    starts = [span.start for span in rich.spans]
    opened: list[Span] = []
    widths = [0, *accumulate(measure(char) for char in rich.text)]
    while start < len(rich.text):
        end = bisect_right(widths, widths[start] + limit) - 1
        # A part looks at its own spans only, and at no more of them than it can have.
        first = bisect_right(starts, start)
        opened = [span for span in (*opened, *rich.spans[at:first]) if span.end > start]
        at = first
        last = min(bisect_left(starts, end, first), first + max_spans + 1)
        near = (*opened, *rich.spans[first:last])
        end = max(_before_too_many(near, start, end, max_spans), start + 1)
        if end < len(rich.text):
            best = _best_end(rich.text, start, end)
            end = _outside_spans(rich.text, near, start, best, limit)
        part = _part(rich, near, start, end, max_spans)
        if part:
            parts.append(part)
        start = end
    return parts


def _before_too_many(spans: Sequence[Span], start: int, end: int, most: int) -> int:
    count = 0
    for span in spans:
        if span.end > start and span.start < end:
            count += 1
            if count > most and span.start > start:
                return span.start
    return end


def _outside_spans(text: str, spans: Sequence[Span], start: int, end: int, limit: int) -> int:
    """The end, moved before the spans that it would cut in two if that leaves a good part."""
    # Spans start in ascending order, so from the back one pass finds every one that is now cut.
    for span in reversed(spans):
        whole = span.style not in {Style.PRE, Style.QUOTE} and span.end - span.start <= limit // 2
        if whole and start < span.start < end < span.end and is_boundary(text, span.start):
            end = span.start
    return end


def _best_end(text: str, start: int, end: int) -> int:
    """The best place to end in `text[start:end]`, in its second half if there is a good one."""
    half = start + (end - start) // 2
    for mark in ("\n\n", "\n"):
        # The mark itself may stick out: it is dropped at the end of a part.
        mark_at = text.rfind(mark, half, end + len(mark))
        if mark_at > start:
            return min(mark_at + len(mark), end)
    sentences = [match.end() for match in _SENTENCE_END.finditer(text, half, end + 1)]
    sentences = [at for at in sentences if start < at <= end and is_boundary(text, at)]
    if sentences:
        return sentences[-1]
    # Not further back than that: some languages and all long links have no spaces.
    for at in range(end, start + (end - start) // 4, -1):
        if text[at].isspace() and is_boundary(text, at):
            return at
    for at in range(end, start, -1):
        if is_boundary(text, at):
            return at
    return end


def _part(rich: Rich, near: Sequence[Span], start: int, end: int, max_spans: int) -> Rich | None:
    """`text[start:end]` with blank ends trimmed, None if it is blank; `near` has all its spans."""
    text = rich.text
    while end > start and text[end - 1].isspace():
        end -= 1
    first = start
    while first < end and text[first].isspace():
        first += 1
    if all(_is_blank(char) for char in text[first:end]):
        return None
    if first > start and any(
        span.style is Style.PRE and span.start <= first < span.end for span in near
    ):
        # Indentation of a first line of code means something; empty lines above it do not.
        first = max(text.rfind("\n", start, first) + 1, start)
    spans = (
        _trimmed(text, max(span.start, first), min(span.end, end), span)
        for span in near
        if span.start < end and span.end > first
    )
    ordered = sorted((span for span in spans if span), key=lambda span: (span.start, -span.end))
    moved = tuple(
        Span(span.start - first, span.end - first, span.style, span.value)
        for span in ordered[:max_spans]
    )
    return Rich(text[first:end], moved)


def _is_blank(char: str) -> bool:
    # The Braille blank and the object replacement, which platforms treat as empty.
    return char.isspace() or char in "\u2800\ufffc" or unicodedata.category(char) == "Cf"


def _trimmed(text: str, start: int, end: int, span: Span) -> Span | None:
    """The span without white space at its ends, which platforms do not style; code keeps it."""
    if span.style not in {Style.PRE, Style.CODE}:
        while end > start and text[end - 1].isspace():
            end -= 1
        while start < end and text[start].isspace():
            start += 1
    return Span(start, end, span.style, span.value) if end > start else None
