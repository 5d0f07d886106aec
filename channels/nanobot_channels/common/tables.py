"""Markdown tables for platforms without tables: as aligned code, or as a list for each row."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from nanobot.text import pattern

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

TABLE_COLUMNS = 40
"""The width of a monospaced line that a phone shows without wrapping."""
_FENCE = "```"
_APART = "\u200b"
# A text without these has no table, and one without those no code either.
_DELIMITERS = pattern(r"^(?=[^\n]*-)[ \t>*+\-:|\d.)]+$", re.MULTILINE)
_LIKELY = pattern(r"\||[`~]{3}|^[ \t>]*(?: {4}|\t)", re.MULTILINE)
_PREFIX = pattern(r"[ \t>]*")
_MARKER = pattern(r"(?:[-*+]|\d{1,9}[.)])[ \t]")


def without_tables(text: str, env: dict[str, Any]) -> str:
    """The Markdown with its tables replaced. Tables wider than a phone shows become lists, with the
    columns' names before the values; no cell is lost. `env` is the parser's: the bounds apply to
    all texts in one environment together.
    """
    if "|" not in text or not _DELIMITERS.search(text):
        return text
    return "\n".join(source for source, _ in blocks(text, {"table_open"}, env))


def blocks(
    text: str, kinds: set[str], env: dict[str, Any] | None = None
) -> Iterator[tuple[str, bool]]:
    """The text in ranges of whole lines: unchanged, or (True) a converted table, fence or code
    block of these kinds, all of them as blocks of code or without any.
    """
    lines = text.split("\n")
    at = 0
    tokens = _parser().parse(text, env) if _LIKELY.search(text) else []
    for number, token in enumerate(tokens):
        if token.type not in kinds or token.map is None:
            continue
        first, last = token.map
        prefix = _PREFIX.match(lines[first])
        start = prefix.end() if prefix and token.level else 0
        if token.level and _MARKER.match(lines[first], start):
            continue  # it shares its first line with the beginning of a list
        if first > at:
            yield "\n".join(lines[at:first]), False
        block = (
            _table(tokens, number, lines[first:last])
            if token.type == "table_open"
            else fenced(token.content.rstrip("\n"), token.info)
        )
        before = lines[first][:start]
        yield "\n".join(before + line for line in block.split("\n")), True
        at = last
    if at < len(lines):
        yield "\n".join(lines[at:]), False


def fenced(code: str, info: str = "") -> str:
    """A block of code. A fence within it, which not every client can tell from its end, is broken
    up invisibly.
    """
    inside = f"{info.strip()}\n{code}".replace(_FENCE, _APART.join(_FENCE))
    return f"{_FENCE}{inside}\n{_FENCE}"


def _table(tokens: Sequence[Token], at: int, lines: Sequence[str]) -> str:
    rows: list[list[Token]] = []
    while tokens[at].type != "table_close":
        if tokens[at].type == "tr_open":
            rows.append([])
        elif tokens[at].type == "inline":
            rows[-1].append(tokens[at])
        at += 1
    # GFM drops cells beyond the heading's columns; written out they are not lost.
    if any(line.count("|") > len(rows[0]) + 1 or "\\" in line for line in lines):
        return fenced("\n".join(lines))
    cells = [[_shown(cell) for cell in row] for row in rows]
    widths = [max(map(_columns, column)) for column in zip(*cells, strict=True)]
    if len(rows) > 1 and sum(widths) + 3 * (len(widths) - 1) > TABLE_COLUMNS:
        columns = zip(*rows, strict=True)
        idle = {name.content for name, *below in columns if not any(cell.content for cell in below)}
        return "\n\n".join(_record(rows[0], row, idle) for row in rows[1:])
    drawn = [
        " | ".join(
            cell + " " * (width - _columns(cell)) for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in cells
    ]
    return fenced("\n".join([drawn[0], "-+-".join("-" * width for width in widths), *drawn[1:]]))


def _record(names: Sequence[Token], row: Sequence[Token], idle: set[str]) -> str:
    """A row of a wide table: its first cell in bold, the others as a list below it. An empty cell
    is omitted, unless its whole column is empty.
    """
    first, *others = (
        f"{name.content}: {cell.content}".strip(": ")
        for at, (name, cell) in enumerate(zip(names, row, strict=True))
        if not at or cell.content or name.content in idle
    )
    title = first if not first or "*" in first else f"**{first}**"
    return "\n".join([title, *(f"* {other}" for other in others)]).strip("\n")


def _shown(cell: Token) -> str:
    """A cell without its marks; with links it is kept as written."""
    if "](" in cell.content:
        return cell.content
    return "".join(child.content for child in cell.children or ())


def _columns(text: str) -> int:
    """Width in a monospaced font, where East Asian characters and emoji take two columns."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 1 + (unicodedata.east_asian_width(char) in {"W", "F"})
        for char in text
    )


@cache
def _parser() -> MarkdownIt:
    from nanobot_channels.common.parsing import markdown_parser  # noqa: PLC0415 - its 30 ms can wait

    return markdown_parser(only_cells=True)
