"""Formatted text as the Markdown that Discord's clients show, within 2000 characters a message.

Their dialect: https://support.discord.com/hc/en-us/articles/210298617. There are no tables, a
fence cannot be longer than three backticks, and a backslash hides the meaning of punctuation.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence, Set
from itertools import accumulate

from nanobot_channels._text import Rich, Span, Style, split, utf16_units

TEXT_LIMIT = 2000
"""Characters in a message (Discord, Create Message). Measured in UTF-16 units, which are never
fewer than what Discord counts."""
_TARGET_LIMIT = 1000
_APART = "\u200b"
_MARKS = {Style.BOLD: "**", Style.ITALIC: "*", Style.STRIKE: "~~"}
_FENCE = "```"
_LANGUAGE = re.compile(r"[a-z0-9_+\-.#]{1,40}", re.IGNORECASE)
_MASKABLE = re.compile(r"https?://[^\s<>\\]+", re.IGNORECASE)
_ADDRESS = re.compile(r"(https?://)[^\s<]*", re.IGNORECASE)
_SPECIAL = re.compile(
    r"(?P<url>https?://[^\s<]+)"
    r"|[\\*_`~]"
    r"|\|(?=\|)|(?<=\|)\|"
    r"|<(?=[@#:/+]|\w+:|[^\s<>]+@)"
    r"|(?P<bracket>\[)|(?<=\])\("
    r"|(?P<margin>^[ \t]*)(?:\#|>|-(?=[\s\#]))",
    re.MULTILINE | re.IGNORECASE,
)


def pieces(rich: Rich, most: int = TEXT_LIMIT) -> list[tuple[str, Rich]]:
    """The text in parts: each as Discord's Markdown of at most `most` characters, and as spans.

    Code that goes on in the next part is fenced there again. Nothing visible is lost; a blank
    text has no parts.
    """
    rich = _with_impossible_links_written_out(rich)
    length, units = utf16_units(to_markdown(rich)), utf16_units(rich.text)
    limit = most
    if length > most:
        limit = max(2, min(most, units * most * 95 // (length * 100)))
    return list(_fitting(rich, limit, most))


def _fitting(rich: Rich, limit: int, most: int) -> Iterator[tuple[str, Rich]]:
    for part in split(rich, limit, measure=utf16_units):
        content = to_markdown(part)
        units = utf16_units(part.text)
        if utf16_units(content) <= most or units <= 2:
            yield content, part
        else:
            yield from _fitting(part, max(2, units * 6 // 10), most)


def plain_text(rich: Rich, most: int = TEXT_LIMIT) -> str:
    """The text with link targets behind the links, or as it is if that is too long."""
    text = rich.text
    for link in reversed([span for span in rich.spans if span.style is Style.LINK]):
        if link.value != rich.text[link.start : link.end]:
            text = f"{text[: link.end]} ({link.value}){text[link.end :]}"
    return text if utf16_units(text) <= most else rich.text


def escaped(text: str) -> str:
    """The text with Markdown's characters escaped."""
    return _Writer(text).escaped(0, len(text), styled=False)


def to_markdown(rich: Rich) -> str:
    """The spans as Discord's Markdown, whatever its length."""
    writer = _Writer(rich.text)
    spans = _possible(rich, writer.addresses)
    return writer.markdown(0, len(rich.text), spans, styled=False)


class _Addresses:
    """The ranges of a text that clients turn into links, found in one pass."""

    def __init__(self, text: str) -> None:
        matches = list(_ADDRESS.finditer(text))
        self._begins = [match.end(1) for match in matches]
        self._ends = [match.end() for match in matches]

    def reach(self, at: int) -> bool:
        """Whether what is written at this place continues an address."""
        number = bisect_right(self._begins, at) - 1
        return number >= 0 and at <= self._ends[number]


def _possible(rich: Rich, addresses: _Addresses) -> list[Span]:
    """The spans without those inside another of the same style, which would end it, and without
    those that begin within an address, whose marks would be part of it."""
    possible: list[Span] = []
    around: list[Span] = []
    # A quote marks whole lines, so it is around whatever begins and ends with it.
    for span in sorted(
        rich.spans, key=lambda span: (span.start, -span.end, span.style != Style.QUOTE)
    ):
        around = [outer for outer in around if outer.end > span.start]
        doubled = any(outer.style is span.style and span.end <= outer.end for outer in around)
        if not doubled and (span.style is Style.PRE or not addresses.reach(span.start)):
            possible.append(span)
            around.append(span)
    return possible


class _Writer:
    """Writes ranges of one text; its addresses are looked up once for all of them."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.addresses = _Addresses(text)
        self._has_targets = "](" in text

    def markdown(self, start: int, end: int, spans: Sequence[Span], *, styled: bool) -> str:
        """`text[start:end]` with its spans."""
        out: list[str] = []
        last = ""
        at = start
        for number, span in enumerate(spans):
            if span.start < at or span.end > end:
                continue
            between = self.escaped(at, span.start, styled=styled)
            last = between[-1:] or last
            piece = self._styled(span, _inside(spans, number), styled=styled)
            apart = span.start == at and piece[:1] == last and piece[:1] in "*~`"
            out += [between, _APART if apart and last else "", piece]
            last = piece[-1:] or last
            at = span.end
        return "".join([*out, self.escaped(at, end, styled=styled)])

    def _styled(self, span: Span, inside: Sequence[Span], *, styled: bool) -> str:
        text = self._text
        if span.style is Style.PRE:
            return _fenced(text[span.start : span.end], span.value)
        if span.style is Style.CODE:
            code = _inline_code(text[span.start : span.end])
            return code or self.escaped(span.start, span.end, styled=styled)
        mark = _MARKS.get(span.style, "")
        if mark and _ended_by_code(text, inside, mark):
            mark = ""
        inner = self.markdown(span.start, span.end, inside, styled=styled or bool(mark))
        if inner[:1] in {"#", ">", "-"} and span.style is not Style.QUOTE:
            # The beginning of a style may count as that of a line.
            inner = f"\\{inner}"
        if span.style is Style.LINK:
            target = span.value.replace("(", "%28").replace(")", "%29")
            target = _encoded(target) if styled else target
            return f"[{inner}]({target})"
        if span.style is Style.QUOTE:
            begins_line = span.start == 0 or text[span.start - 1] == "\n"
            return "\n".join(f"> {line}" for line in inner.split("\n")) if begins_line else inner
        return f"{mark}{inner}{mark}"

    def escaped(self, start: int, end: int, *, styled: bool) -> str:
        """`text[start:end]` with Markdown's characters escaped; addresses stay as they are."""
        text = self._text
        out = []
        at = start
        for match in _SPECIAL.finditer(text, start, end):
            out.append(text[at : match.start()])
            at = match.end()
            url, margin = match["url"], match["margin"]
            if match["bracket"] and not self._has_targets:
                out.append("[")
                continue
            if url:
                whole = url.replace("](", "%5D(")
                out.append(_encoded(whole) if styled else whole)
            elif margin is not None:
                out.append(f"{margin}\\{match[0][len(margin) :]}")
            elif self.addresses.reach(match.start()):
                # A backslash would be part of the address, which only "<" ends.
                out.append(f"<{_APART}" if match[0] == "<" else match[0])
            else:
                out.append(f"\\{match[0]}")
        out.append(text[at:end])
        return "".join(out)


def _inside(spans: Sequence[Span], number: int) -> list[Span]:
    """The spans within the one of this number; all spans are in the order of their starts."""
    end = spans[number].end
    inside = []
    for at in range(number + 1, len(spans)):
        if spans[at].start >= end:
            break
        if spans[at].end <= end:
            inside.append(spans[at])
    return inside


def _ended_by_code(text: str, inside: Sequence[Span], mark: str) -> bool:
    """Whether Discord would take a character of code for the end of what is around it."""
    return any(
        span.style is Style.CODE and mark[0] in text[span.start : span.end] for span in inside
    )


def _encoded(url: str) -> str:
    """Without characters that would end bold text around it; encoded they mean the same."""
    return url.replace("*", "%2A").replace("~", "%7E")


def _fenced(code: str, language: str) -> str:
    info = language if _LANGUAGE.fullmatch(language) else ""
    # Discord has no longer fences: what would end this one is taken apart invisibly.
    safe = code.replace(_FENCE, f"`{_APART}`{_APART}`")
    return f"{_FENCE}{info}\n{safe}\n{_FENCE}"


def _inline_code(code: str) -> str:
    """The code between backticks, empty where Discord has no way to write it."""
    if "``" in code or not code.strip():
        return ""
    if "`" not in code:
        return f"`{code}`"
    # Clients take away a space beside a backtick at the ends, and no other.
    return f"``{' ' if code[0] == '`' else ''}{code}{' ' if code[-1] == '`' else ''}``"


def _with_impossible_links_written_out(rich: Rich) -> Rich:
    """Links as Discord knows them: the others lose their span and show their target behind."""
    addresses = _Addresses(rich.text)
    behind = rich.text.rfind("](")
    dropped: set[Span] = set()
    added: list[tuple[Span, str]] = []
    for link in reversed([span for span in rich.spans if span.style is Style.LINK]):
        label = rich.text[link.start : link.end]
        # With those two characters behind it, in code for example, clients would read on to there.
        alone = behind < link.end and not addresses.reach(link.start)
        if label != link.value and alone and _can_be_masked(label, link.value):
            continue
        dropped.add(link)
        if label != link.value:
            added.append((link, f" ({link.value})"))
            behind = len(rich.text) if "](" in link.value else behind
    return _with_added(rich, dropped, added[::-1])


def _with_added(rich: Rich, dropped: Set[Span], added: Sequence[tuple[Span, str]]) -> Rich:
    """The text with something behind some links; what surrounds a link grows with it."""
    pieces = []
    at = 0
    for link, more in added:
        pieces += [rich.text[at : link.end], more]
        at = link.end
    links = [link for link, _ in added]
    ends = [link.end for link in links]
    moves = [0, *accumulate(len(more) for _, more in added)]
    spans = []
    for span in rich.spans:
        if span in dropped:
            continue
        before, until = bisect_right(ends, span.start), bisect_right(ends, span.end)
        # What begins within a link ends within it too, before what is added.
        if before < until and links[before].start < span.start:
            until = before
        start, end = span.start + moves[before], span.end + moves[until]
        spans.append(Span(start, end, span.style, span.value))
    text = "".join([*pieces, rich.text[at:]])
    return Rich(text, tuple(sorted(spans, key=lambda span: (span.start, -span.end))))


def _can_be_masked(label: str, target: str) -> bool:
    # Clients show a link as written if its text looks like an address itself, or has brackets.
    return (
        len(target) <= _TARGET_LIMIT
        and _MASKABLE.fullmatch(target) is not None
        and "://" not in label
        and not any(char in label for char in "\n[]")
    )
