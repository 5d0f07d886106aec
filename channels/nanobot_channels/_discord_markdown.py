"""Formatted text as the Markdown that Discord's clients show, within 2000 characters a message.

Their dialect: https://support.discord.com/hc/en-us/articles/210298617. There are no tables, a
fence cannot be longer than three backticks, and a backslash hides the meaning of punctuation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

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
_ADDRESS_BEFORE = re.compile(r"https?://[^\s<]*\Z", re.IGNORECASE)
_SPECIAL = re.compile(
    r"(?P<url>https?://[^\s<]+)"
    r"|[\\*_`~]"
    r"|\|(?=\|)|(?<=\|)\|"
    r"|<(?=[@#:/+]|\w+:|[^\s<>]+@)"
    r"|(?P<bracket>\[)|(?<=\])\("
    r"|(?P<margin>^[ \t]*)(?:\#|>|-(?=[\s\#]))",
    re.MULTILINE | re.IGNORECASE,
)


def pieces(rich: Rich) -> list[tuple[str, Rich]]:
    """The text in parts: each as Discord's Markdown of at most 2000 characters, and as spans.

    Code that goes on in the next part is fenced there again. Nothing visible is lost; a blank
    text has no parts.
    """
    rich = _with_impossible_links_written_out(rich)
    length, units = utf16_units(written(rich)), utf16_units(rich.text)
    limit = TEXT_LIMIT
    if length > TEXT_LIMIT:
        limit = max(2, min(TEXT_LIMIT, units * TEXT_LIMIT * 95 // (length * 100)))
    return list(_fitting(rich, limit))


def _fitting(rich: Rich, limit: int) -> Iterator[tuple[str, Rich]]:
    for part in split(rich, limit, measure=utf16_units):
        content = written(part)
        units = utf16_units(part.text)
        if utf16_units(content) <= TEXT_LIMIT or units <= 2:
            yield content, part
        else:
            yield from _fitting(part, max(2, units * 6 // 10))


def plain_text(rich: Rich) -> str:
    """The text with link targets behind the links, or as it is if that is too long."""
    text = rich.text
    for link in reversed([span for span in rich.spans if span.style is Style.LINK]):
        if link.value != rich.text[link.start : link.end]:
            text = f"{text[: link.end]} ({link.value}){text[link.end :]}"
    return text if utf16_units(text) <= TEXT_LIMIT else rich.text


def escaped(text: str) -> str:
    """The text so that Discord shows it as it is."""
    return _escaped(text, 0, len(text), styled=False)


def written(rich: Rich) -> str:
    """The spans as Discord's Markdown, whatever its length."""
    return _written(rich.text, 0, len(rich.text), _possible(rich))


def _possible(rich: Rich) -> list[Span]:
    """The spans without those inside another of the same style, which would end it, and without
    those that begin within an address, whose marks would be part of it."""
    kept: list[Span] = []
    # A quote marks whole lines, so it is around whatever begins and ends with it.
    for span in sorted(rich.spans, key=lambda one: (one.start, -one.end, one.style != Style.QUOTE)):
        around = (one for one in kept if one.start <= span.start and span.end <= one.end)
        doubled = any(one.style is span.style for one in around)
        if not doubled and (span.style is Style.PRE or not _in_address(rich.text, span.start)):
            kept.append(span)
    return kept


def _in_address(text: str, at: int) -> bool:
    return _ADDRESS_BEFORE.search(text[max(0, at - TEXT_LIMIT) : at]) is not None


def _written(
    text: str, start: int, end: int, spans: Sequence[Span], *, styled: bool = False
) -> str:
    out = ""
    at = start
    for number, span in enumerate(spans):
        if span.start < at or span.end > end:
            continue
        out += _escaped(text, at, span.start, styled=styled)
        inside = [one for one in spans[number + 1 :] if one.end <= span.end]
        made = _styled(text, span, inside, styled=styled)
        if span.start == at and out and made[:1] == out[-1] and made[:1] in "*~`":
            out += _APART
        out += made
        at = span.end
    return out + _escaped(text, at, end, styled=styled)


def _styled(text: str, span: Span, inside: Sequence[Span], *, styled: bool) -> str:
    if span.style is Style.PRE:
        return _fenced(text[span.start : span.end], span.value)
    if span.style is Style.CODE:
        code = _inline_code(text[span.start : span.end])
        return code or _escaped(text, span.start, span.end, styled=styled)
    mark = _MARKS.get(span.style, "")
    if mark and _ended_by_code(text, inside, mark):
        mark = ""
    inner = _written(text, span.start, span.end, inside, styled=styled or bool(mark))
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


def _ended_by_code(text: str, inside: Sequence[Span], mark: str) -> bool:
    """Whether Discord would take a character of code for the end of what is around it."""
    return any(
        span.style is Style.CODE and mark[0] in text[span.start : span.end] for span in inside
    )


def _encoded(url: str) -> str:
    """Without characters that would end bold text around it; encoded they mean the same."""
    return url.replace("*", "%2A").replace("~", "%7E")


def _fenced(code: str, language: str) -> str:
    known = language if _LANGUAGE.fullmatch(language) else ""
    # Discord has no longer fences: what would end this one is taken apart invisibly.
    safe = code.replace(_FENCE, f"`{_APART}`{_APART}`")
    return f"{_FENCE}{known}\n{safe}\n{_FENCE}"


def _inline_code(code: str) -> str:
    """The code between backticks, empty where Discord has no way to write it."""
    if "``" in code or not code.strip():
        return ""
    if "`" not in code:
        return f"`{code}`"
    # Clients take away a space beside a backtick at the ends, and no other.
    return f"``{' ' if code[0] == '`' else ''}{code}{' ' if code[-1] == '`' else ''}``"


def _escaped(text: str, start: int, end: int, *, styled: bool) -> str:
    """A stretch of the text, without a meaning for Discord; addresses stay as they are."""
    out = []
    at = start
    for found in _SPECIAL.finditer(text, start, end):
        out.append(text[at : found.start()])
        at = found.end()
        url, margin = found["url"], found["margin"]
        if found["bracket"] and "](" not in text:
            out.append("[")
            continue
        if url:
            whole = url.replace("](", "%5D(")
            out.append(_encoded(whole) if styled else whole)
        elif margin is not None:
            out.append(f"{margin}\\{found[0][len(margin) :]}")
        elif _in_address(text, found.start()):
            # A backslash would be part of the address, which only "<" ends.
            out.append(f"<{_APART}" if found[0] == "<" else found[0])
        else:
            out.append(f"\\{found[0]}")
    out.append(text[at:end])
    return "".join(out)


def _with_impossible_links_written_out(rich: Rich) -> Rich:
    """Links as Discord knows them: the others lose their span and show their target behind."""
    text = rich.text
    spans = list(rich.spans)
    for link in [span for span in reversed(rich.spans) if span.style is Style.LINK]:
        label = rich.text[link.start : link.end]
        # With those two characters behind it, in code for example, clients would read on to there.
        alone = "](" not in text[link.end :] and not _in_address(text, link.start)
        can_be_masked = alone and _can_be_masked(label, link.value)
        if label != link.value and can_be_masked:
            continue
        spans.remove(link)
        if label == link.value:
            continue
        added = f" ({link.value})"
        text = text[: link.end] + added + text[link.end :]
        spans = [_moved(span, link, len(added)) for span in spans]
    return Rich(text, tuple(sorted(spans, key=lambda span: (span.start, -span.end))))


def _can_be_masked(label: str, target: str) -> bool:
    # Clients show a link as written if its text looks like an address itself, or has brackets.
    return (
        len(target) <= _TARGET_LIMIT
        and _MASKABLE.fullmatch(target) is not None
        and "://" not in label
        and not any(char in label for char in "\n[]")
    )


def _moved(span: Span, link: Span, by: int) -> Span:
    """The span after something was added behind a link; what surrounds the link grows."""
    start = span.start + by if span.start >= link.end else span.start
    around = span.start <= link.start and span.end >= link.end
    end = span.end + by if around or span.start >= link.end else span.end
    return Span(start, end, span.style, span.value)
