"""Markdown parsers whose cost is linear in the length of a text, whatever it contains.

The parser's own rules are quadratic for some texts, all of them with more marks than a person would
write: these become literal text. Nothing is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_block import table as parse_table
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markdown_it.utils import EnvType

MAX_NESTING = 40
"""The most levels of nested blocks and marks."""
MAX_LINES = 3_000
"""Lines of one text that are parsed as Markdown; the rest is literal."""
MAX_STARTS = 6_000
"""The most quotes and list items at the beginnings of lines, counted the same way: they nest."""
MAX_MARKS = 120
"""Marks that are parsed together. A paragraph with more is parsed line by line, and a line with
more is literal.
"""
MAX_ALL_MARKS = 10_000
"""Marks of a whole text; the blocks after that are literal."""
MAX_CELLS = 4_000
"""Cells of all tables of a text, counted the same way; the rows after that are paragraphs."""

# Characters that can begin a mark. A bracket makes the parser look ahead, and again for each
# bracket within.
_MARK = re.compile(r"[\\`*_~<&]|\[")
_ACTIVE = re.compile(r"[\\`*_~<&\[\n]")
_BRACKET_WEIGHT = 3
_STARTS = re.compile(r"(?:[ \t]*(?:>|(?:[*+-]|\d{1,9}[.)])(?=[ \t])))+")
_START = re.compile(r"[>*+.)-]")
_CELL = {"th_open", "td_open"}
# The remaining budget in an environment; in a token's `meta`: it is the literal rest of a text.
_LINES, _BEGUN, _CELLS, _MARKS = (
    f"nanobot {what}" for what in ("lines", "starts", "cells", "marks")
)
_LITERAL = "literal"


def markdown_parser(*, breaks: bool = False, only_cells: bool = False) -> MarkdownIt:
    """CommonMark with tables and strikethrough, in which HTML is text, within the bounds of this
    module. The bounds apply to all texts that are parsed in one environment together. `breaks`:
    line ends within a paragraph are kept. `only_cells`: marks are parsed in tables alone.
    """
    options = {"html": False, "breaks": breaks, "maxNesting": MAX_NESTING}
    parser = MarkdownIt("commonmark", options)
    # The reference rule swallows "[1]: https://..." lines, which models write as lists of sources.
    parser.enable(["table", "strikethrough"]).disable("reference")
    parser.core.ruler.at("block", _blocks)
    parser.core.ruler.at("inline", _cells if only_cells else _inlines)
    parser.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
    return parser


def _blocks(state: StateCore) -> None:
    lines = state.src.split("\n")
    read = _readable(lines, state.env)
    state.md.block.parse("\n".join(lines[:read]), state.md, state.env, state.tokens)
    rest = "\n".join(lines[read:])
    if rest.strip():
        opening, inline = Token("paragraph_open", "p", 1), Token("inline", "", 0)
        opening.block = inline.block = True
        inline.meta = {_LITERAL: True}
        inline.content, inline.level, inline.children = rest, 1, []
        state.tokens += [opening, inline, Token("paragraph_close", "p", -1, block=True)]


def _readable(lines: Sequence[str], env: EnvType) -> int:
    """The number of lines within the bounds."""
    most, left = env.get(_LINES, MAX_LINES), env.get(_BEGUN, MAX_STARTS)
    read = 0
    for line in lines[:most]:
        starts = _STARTS.match(line)
        left -= min(len(_START.findall(starts[0])), MAX_NESTING) if starts else 0
        if left < 0:
            break
        read += 1
    env[_LINES], env[_BEGUN] = most - read, left
    return read


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001 - theirs
    if start + 2 > end:
        return False
    columns = 1 + state.src.count("|", state.bMarks[start + 1], state.eMarks[start + 1])
    left = state.env.get(_CELLS, MAX_CELLS)
    rows = left // columns - 1
    fits = rows >= 0 and parse_table(state, start, min(end, start + 2 + rows), silent)
    if fits and not silent:
        state.env[_CELLS] = left - columns * (state.line - start - 1)
    return fits


def _inlines(state: StateCore) -> None:
    _parse(state, (token for token in state.tokens if token.type == "inline"))


def _cells(state: StateCore) -> None:
    _parse(state, (inside for cell, inside in pairwise(state.tokens) if cell.type in _CELL))


def _parse(state: StateCore, tokens: Iterable[Token]) -> None:
    left = state.env.get(_MARKS, MAX_ALL_MARKS)
    for token in tokens:
        children = token.children = []
        if _LITERAL in token.meta:
            children.append(Token("text", "", 0, content=token.content))
            continue
        for text, marks in _stretches(token.content):
            if children:
                children.append(Token("softbreak", "br", 0))
            left -= marks
            if marks <= MAX_MARKS and left >= 0 and _ACTIVE.search(text):
                # A separate list: the parser expects to begin with an empty one.
                inside: list[Token] = []
                state.md.inline.parse(text, state.md, state.env, inside)
                children += inside
            else:
                children.append(Token("text", "", 0, content=text))
    state.env[_MARKS] = left


def _stretches(text: str) -> Iterator[tuple[str, int]]:
    """The parsed text, or each of its lines if there are more marks than are parsed together."""
    marks = _marks(text)
    for stretch in [text] if marks <= MAX_MARKS else text.split("\n"):
        yield stretch, _marks(stretch)


def _marks(text: str) -> int:
    return sum(_BRACKET_WEIGHT if mark == "[" else 1 for mark in _MARK.findall(text))
