"""The model's Markdown (CommonMark, tables, strikethrough) as spans; nothing visible is lost."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from nanobot_channels._text import Rich, Span, Style, clean

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

# A text without any of these means the same to a Markdown parser and to a person.
_SIGNIFICANT = re.compile(
    r"[\\`*_~\[<|]|&[#\w]|^[ \t]*(?:[-+=>#]|\d{1,9}[.)])|^(?: {4}|[ ]*\t)", re.MULTILINE
)
_LINK = re.compile(r"(?:https?://|mailto:)[^\s]+", re.IGNORECASE)
_STYLES = {"strong": Style.BOLD, "em": Style.ITALIC, "s": Style.STRIKE}
_RULE = "———"
TABLE_COLUMNS = 40
"""What a phone shows of a monospaced line without breaking it."""


def from_markdown(text: str, table_columns: int = TABLE_COLUMNS) -> Rich:
    """The text as it should look.

    Headings are bold, list items get bullets or their numbers, HTML and reference definitions stay
    as written. Link targets other than http, https, tg and mailto are written out behind their
    text. Text nested deeper than 40 levels stays plain, and so does what has more marks or lines
    than a person means (`_parsing` has the numbers).

    Tables become monospaced blocks, those wider than `table_columns` a list for each row, with the
    columns' names before the values.
    """
    text = clean(text)
    if not _SIGNIFICANT.search(text):
        return Rich(text.strip("\n"))
    parser = _parser()
    tokens, deepest = parser.parse(text), parser.options.maxNesting
    if any(token.level >= deepest - 1 for token in tokens):
        return Rich(text.strip("\n"))
    writer = _Writer(text.split("\n"), table_columns)
    writer.blocks(tokens)
    return writer.rich()


@cache
def _parser() -> MarkdownIt:
    # Most answers are plain and most processes short: the parser's 30 ms and 3 MB can wait.
    from nanobot_channels._parsing import markdown_parser  # noqa: PLC0415

    return markdown_parser()


class _Writer:
    """Writes tokens out as text, with the prefix of the lists they are in, and remembers spans."""

    def __init__(self, source: list[str], table_columns: int) -> None:
        self._source = source
        self._table_columns = table_columns
        self._pieces: list[str] = []
        self._length = 0
        self._spans: list[Span] = []
        self._open: list[int] = []
        self._indent = ""
        self._marker = ""
        self._lists = 0
        self._quotes = 0
        self._fresh = True

    def rich(self) -> Rich:
        text = "".join(self._pieces)
        spans = [span for span in self._spans if text[span.start : span.end].strip()]
        return Rich(text, tuple(sorted(spans, key=lambda span: (span.start, -span.end))))

    def blocks(self, tokens: Sequence[Token]) -> None:
        at = 0
        while at < len(tokens):
            token = tokens[at]
            if token.type == "table_open":
                close = _closing(tokens, at)
                self._table(tokens[at:close])
                at = close
            else:
                handler = _BLOCKS.get(token.type)
                if handler:
                    handler(self, token)
            at += 1

    def _write(self, text: str) -> None:
        self._pieces.append(text)
        self._length += len(text)

    def _begin_block(self, *, tight: bool = False) -> None:
        """Start a new line at the right depth, with an empty line before it unless in a list."""
        if self._length and not self._fresh:
            self._write("\n" if tight or self._lists else "\n\n")
        self._fresh = False
        if self._marker:
            width = len(self._marker)
            self._write(self._indent[:-width] + self._marker)
            self._marker = ""
        else:
            self._write(self._indent)

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
        if self._length and not self._fresh:
            self._write("\n" if self._lists else "\n\n")
            self._fresh = True
        self._open.append(self._length)

    def quote_close(self, _token: Token) -> None:
        start = self._open.pop()
        self._quotes -= 1
        self._fresh = False
        if not self._quotes:
            self._span(start, Style.QUOTE)

    def list_open(self, _token: Token) -> None:
        if not self._lists and self._length and not self._fresh:
            self._write("\n\n")
            self._fresh = True
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
        if rest.strip():
            self._begin_block()
            self._write(rest.strip())
        self._preformatted(token.content.rstrip("\n"), language)

    def _preformatted(self, text: str, language: str = "") -> None:
        self._begin_block()
        start = self._length
        blank = not text.strip()
        self._write(language if blank else text)
        self._span(start, Style.PRE, "" if blank else language)

    def _table(self, tokens: Sequence[Token]) -> None:
        rows: list[list[Token]] = []
        for token in tokens:
            if token.type == "tr_open":
                rows.append([])
            elif token.type == "inline":
                rows[-1].append(token)
        first, last = tokens[0].map or (0, 0)
        lines = self._source[first:last]
        # GFM drops cells beyond the heading's columns; shown as written, they are not lost.
        if any(line.count("|") > len(rows[0]) + 1 or "\\" in line for line in lines):
            self._preformatted("\n".join(lines))
            return
        texts = [[_plain(cell.children or []) for cell in row] for row in rows]
        aligned = list(_aligned(texts))
        if _columns(aligned[1]) <= self._table_columns or len(rows) == 1:
            self._preformatted("\n".join(aligned))
        else:
            self._records(texts[0], rows[1:])

    def _records(self, names: Sequence[str], rows: Sequence[Sequence[Token]]) -> None:
        """A wide table: of each row the first cell in bold, the others as a list below it."""
        idle = {at for at in range(len(names)) if not any(row[at].content for row in rows)}
        for number, row in enumerate(rows):
            if number and self._lists:
                self._write("\n")
            for at, (name, cell) in enumerate(zip(names, row, strict=True)):
                if at and not cell.content and at not in idle:
                    continue
                self._begin_block(tight=at > 0)
                start = self._length
                self._write(f"{'• ' if at else ''}{name}{': ' if name else ''}")
                self.inline(cell)
                if not at:
                    self._span(start, Style.BOLD)

    def inline(self, token: Token) -> None:
        links: list[tuple[int, int, Token]] = []
        starts: list[tuple[str, int]] = []
        for child in token.children or []:
            kind, _, edge = child.type.rpartition("_")
            if child.type in {"softbreak", "hardbreak"}:
                self._write("\n" + self._indent)
            elif child.type == "code_inline":
                start = self._length
                self._write(child.content)
                if (
                    not links
                ):  # a link's text holds no code on most platforms; the link is worth more
                    self._span(start, Style.CODE)
            elif child.type == "image":
                self._image(child, inside_link=bool(links))
            elif child.type == "link_open":
                links.append((self._length, len(self._pieces), child))
            elif child.type == "link_close":
                self._link(*links.pop())
            elif edge == "open":
                starts.append((kind, self._length))
            elif edge == "close":
                self._styled(kind, starts.pop()[1], starts)
            else:
                self._write(child.content)

    def _styled(self, kind: str, start: int, around: Sequence[tuple[str, int]]) -> None:
        # Within its own kind a style shows nothing, and they can be nested without end.
        if all(outer != kind for outer, _ in around):
            self._span(start, _STYLES[kind])

    def _image(self, token: Token, *, inside_link: bool) -> None:
        if inside_link:
            self._write(_plain([token]))
            return
        start, piece = self._length, len(self._pieces)
        self._write(_plain(token.children or []))
        self._link(start, piece, token)

    def _link(self, start: int, piece: int, token: Token) -> None:
        """Make what was written since `start` (and `piece`) a link, or write its target out."""
        target = _target(token)
        if self._length == start:
            self._write(target)
        if _LINK.fullmatch(target):
            self._span(start, Style.LINK, target)
        elif target and "".join(self._pieces[piece:]) != target:
            self._write(f" ({target})")
        self._write(_title(token))


def _target(token: Token) -> str:
    return clean(str(token.attrs.get("href") or token.attrs.get("src") or ""))


def _title(token: Token) -> str:
    title = clean(str(token.attrs.get("title") or ""))
    return f' "{title}"' if title else ""


def _closing(tokens: Sequence[Token], at: int) -> int:
    level = tokens[at].level
    return next(i for i in range(at + 1, len(tokens)) if tokens[i].level == level)


def _plain(tokens: Sequence[Token]) -> str:
    """Inline tokens as one line of text, link targets written out."""
    return "".join(_plain_pieces(tokens)).strip()


def _plain_pieces(tokens: Sequence[Token]) -> Iterator[str]:
    targets: list[str] = []
    for token in tokens:
        if token.type == "link_open":
            target = "" if token.markup == "autolink" else _target(token)
            targets.append((f" ({target})" if target else "") + _title(token))
        elif token.type == "link_close":
            yield targets.pop()
        elif token.type == "image":
            target = _target(token)
            yield _plain(token.children or []) + (f" ({target})" if target else "") + _title(token)
        elif token.type in {"softbreak", "hardbreak"}:
            yield " "
        else:
            yield token.content


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(_columns(row[at]) for row in rows) for at in range(len(rows[0]))]
    for number, row in enumerate(rows):
        cells = (
            cell + " " * (width - _columns(cell)) for cell, width in zip(row, widths, strict=True)
        )
        yield " | ".join(cells).rstrip()
        if number == 0:
            yield "-+-".join("-" * width for width in widths)


def _columns(text: str) -> int:
    """Width in a monospaced font, where East Asian characters and emoji take two columns."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 1 + (unicodedata.east_asian_width(char) in {"W", "F"})
        for char in text
    )


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
