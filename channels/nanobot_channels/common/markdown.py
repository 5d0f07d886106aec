"""Converts the model's Markdown (CommonMark, tables, strikethrough) to spans; nothing visible is
lost.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from nanobot.text import pattern
from nanobot_channels.common.tables import without_tables
from nanobot_channels.common.text import Rich, Span, Style, clean

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

# A text without any of these means the same to a Markdown parser and to a person.
_SIGNIFICANT = pattern(
    r"[\\`*_~\[<|]|&[#\w]|^[ \t]*(?:[-+=>#]|\d{1,9}[.)])|^(?: {4}|[ ]*\t)", re.MULTILINE
)
_LINK = pattern(r"(?:https?://|mailto:)[^\s]+", re.IGNORECASE)
_STYLES = {"strong_open": Style.BOLD, "em_open": Style.ITALIC, "s_open": Style.STRIKE}
_RULE = "———"
_TABLES = "nanobot tables"


def from_markdown(text: str, env: dict[str, Any] | None = None) -> Rich:
    """The formatted text.

    Headings are bold, list items get bullets or their numbers, tables become code or lists, and
    HTML and reference definitions are kept as written. Link targets other than http, https and
    mailto are written out after their text. Text nested deeper than 40 levels stays plain, and so
    does text with more marks or lines than a person would write (`_parsing` has the numbers).
    Pieces of one text share an `env`, in which those are counted.
    """
    env = {} if env is None else env
    text = clean(text)
    if not _SIGNIFICANT.search(text):
        return Rich(text.strip("\n"))
    parser = _parser()
    tokens = parser.parse(without_tables(text, env.setdefault(_TABLES, {})), env)
    deepest = parser.options.maxNesting
    if any(token.level >= deepest - 1 for token in tokens):
        return Rich(text.strip("\n"))
    writer = _Writer()
    for token in tokens:
        handler = _BLOCKS.get(token.type)
        if handler:
            handler(writer, token)
    return writer.rich()


@cache
def _parser() -> MarkdownIt:
    # Most answers are plain and most processes short: the parser's 30 ms and 3 MB can wait.
    from nanobot_channels.common.parsing import markdown_parser  # noqa: PLC0415

    return markdown_parser().disable("table")


class _Writer:
    """Writes tokens as text, with the prefix of their lists, and records spans."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._spans: list[Span] = []
        self._open: list[int] = []
        self._indent = ""
        self._marker = ""
        self._gap = ""
        self._lists = 0
        self._quotes = 0

    def rich(self) -> Rich:
        text = "".join(self._pieces)
        spans = []
        for span in self._spans:
            shown = text[span.start : span.end]
            # A quote begins before the empty line above it.
            start = span.end - len(shown.lstrip()) if span.style is Style.QUOTE else span.start
            if shown.strip():
                spans.append(Span(start, span.end, span.style, span.value))
        return Rich(text, tuple(sorted(spans, key=lambda span: (span.start, -span.end))))

    def _write(self, text: str) -> None:
        self._pieces.append(text)
        self._length += len(text)

    def _begin_block(self, *, tight: bool = False) -> None:
        """Start a new line at the right depth, with an empty line before it unless in a list."""
        if self._length:
            self._write(self._gap or ("\n" if tight or self._lists else "\n\n"))
        self._gap = ""
        self._write(self._indent[: len(self._indent) - len(self._marker)] + self._marker)
        self._marker = ""

    def _span(self, start: int, style: Style, value: str = "") -> None:
        if self._length > start:
            self._spans.append(Span(start, self._length, style, value))

    def paragraph(self, token: Token) -> None:
        self._begin_block(tight=token.hidden)

    def heading_open(self, _token: Token) -> None:
        self._begin_block()
        self._open.append(self._length)

    def heading_close(self, _token: Token) -> None:
        self._span(self._open.pop(), Style.BOLD)

    def quote_open(self, _token: Token) -> None:
        self._quotes += 1
        self._open.append(self._length)

    def quote_close(self, _token: Token) -> None:
        start = self._open.pop()
        self._quotes -= 1
        if not self._quotes:
            self._span(start, Style.QUOTE)

    def list_open(self, _token: Token) -> None:
        self._gap = self._gap if self._lists else "\n\n"
        self._lists += 1

    def list_close(self, _token: Token) -> None:
        self._lists -= 1

    def item_open(self, token: Token) -> None:
        if self._marker:
            self._begin_block()
        self._marker = f"{token.info}{token.markup} " if token.info else "• "
        self._open.append(len(self._indent))
        self._indent += " " * len(self._marker)

    def item_close(self, _token: Token) -> None:
        if self._marker:
            self._begin_block()
        self._indent = self._indent[: self._open.pop()]

    def rule(self, _token: Token) -> None:
        self._begin_block()
        self._write(_RULE)

    def code(self, token: Token) -> None:
        language, _, rest = token.info.strip().partition(" ")
        text = token.content.rstrip("\n")
        if not text.strip():
            language, rest, text = "", "", token.info.strip()
        if rest.strip():
            self._begin_block()
            self._write(rest.strip())
        self._begin_block()
        start = self._length
        self._write(text)
        self._span(start, Style.PRE, language)

    def inline(self, token: Token) -> None:
        around: list[tuple[Token, int, int]] = []
        for child in token.children or []:
            start, piece = self._length, len(self._pieces)
            in_link = any(outer.type == "link_open" for outer, _, _ in around)
            if child.nesting > 0:
                around.append((child, start, piece))
            elif child.nesting < 0:
                opening, start, piece = around.pop()
                if opening.type == "link_open":
                    self._link(opening, start, piece)
                # Within its own kind a style has no effect, and it can be nested without end.
                elif all(outer.type != opening.type for outer, _, _ in around):
                    self._span(start, _STYLES[opening.type])
            elif child.type in {"softbreak", "hardbreak"}:
                self._write("\n" + self._indent)
            else:
                self._write(child.content.replace("\n", f"\n{self._indent}"))
                if child.type == "image":
                    self._link(child, start, piece, written_out=in_link)
                elif child.type == "code_inline" and not in_link:
                    # On most platforms a link's text cannot contain code; the link is more
                    # important.
                    self._span(start, Style.CODE)

    def _link(self, token: Token, start: int, piece: int, *, written_out: bool = False) -> None:
        """Turn the text written since `start` (and `piece`) into a link, or write its
        target out.
        """
        target = clean(str(token.attrs.get("href") or token.attrs.get("src") or ""))
        title = clean(str(token.attrs.get("title") or ""))
        if self._length == start:
            self._write(target)
        if _LINK.fullmatch(target) and not written_out:
            self._span(start, Style.LINK, target)
        elif target and "".join(self._pieces[piece:]) != target:
            self._write(f" ({target})")
        self._write(f' "{title}"' if title else "")


_BLOCKS: dict[str, Callable[[_Writer, Token], None]] = {
    "paragraph_open": _Writer.paragraph,
    "inline": _Writer.inline,
    "heading_open": _Writer.heading_open,
    "heading_close": _Writer.heading_close,
    "blockquote_open": _Writer.quote_open,
    "blockquote_close": _Writer.quote_close,
    "bullet_list_open": _Writer.list_open,
    "ordered_list_open": _Writer.list_open,
    "bullet_list_close": _Writer.list_close,
    "ordered_list_close": _Writer.list_close,
    "list_item_open": _Writer.item_open,
    "list_item_close": _Writer.item_close,
    "hr": _Writer.rule,
    "fence": _Writer.code,
    "code_block": _Writer.code,
}
