"""Markdown in a terminal: rendered with rich, and settled block by block as it is streamed."""

from __future__ import annotations

import re
from typing import ClassVar

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.markdown import CodeBlock, Markdown, TableElement
from rich.padding import Padding
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

from nanobot.cli.output import harmless

# Readable on dark and light terminals: no background, only the terminal's own colours.
_THEME = Theme(
    {
        "markdown.code": "cyan",
        "markdown.block_quote": "dim",
        "markdown.list": "default",
        "markdown.link_url": "underline",
        "markdown.table.border": "dim",
        "markdown.table.header": "bold",
    }
)
_FENCE = re.compile(r" {0,3}(?:```|~~~)\S*")
_TRAILING = re.compile(r" +((?:\x1b\[[0-9;]*m)*)$", re.MULTILINE)
_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])


def parse(text: str) -> list[Token]:
    """The tokens of a text as written in chats: a line break is a line break, and HTML is plain
    text, because a terminal cannot render it.
    """
    tokens = _PARSER.parse(text)
    for token in tokens:
        token.tag = "h2" if token.tag == "h1" else token.tag  # which rich would center
    for part in (child for token in tokens for child in token.children or ()):
        if part.type == "softbreak":
            part.type = "hardbreak"
    return tokens


def settled(text: str) -> int:
    """How much of an unfinished text will look the same whatever follows.

    That is everything before its last block: a paragraph, a list, a table, a code block.
    """
    starts = [token.map[0] for token in parse(text) if token.map and token.level == 0]
    if len(starts) < 2:
        return 0
    return sum(len(line) for line in text.splitlines(keepends=True)[: starts[-1]])


def ending(text: str, lines: int) -> str:
    """The last lines of an unfinished text; within a code block they stay code."""
    every = text.split("\n")
    if len(every) <= lines:
        return text
    cut = every[-lines:]
    opened = ""
    for line in every[:-lines]:
        if fence := _FENCE.match(line):
            opened = "" if opened else fence[0]
    return "\n".join([opened, *cut] if opened else cut)


class _Code(CodeBlock):
    """Without the blank lines that rich adds around it."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = Syntax(str(self.text).rstrip(), self.lexer_name, theme="ansi_dark", word_wrap=True)
        yield Padding(code, (0, 0, 0, 2))


class _Table(TableElement):
    """Without the blank lines at its edges."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for part in super().__rich_console__(console, options):
            if isinstance(part, Table):
                part.show_edge = False
            yield part


class _Markdown(Markdown):
    elements: ClassVar = Markdown.elements | {
        "fence": _Code,
        "code_block": _Code,
        "table_open": _Table,
    }


class Ink:
    """Renders for a terminal: text with control sequences, or without them if colour is off."""

    def __init__(self, *, colour: bool) -> None:
        self._console = Console(
            height=100,
            force_terminal=colour,
            color_system="standard" if colour else None,
            no_color=not colour,
            highlight=False,
            emoji=False,
            markup=False,
            theme=_THEME,
            legacy_windows=False,
            _environ={},
        )

    def markdown(self, text: str, width: int) -> str:
        """A whole text with a trailing newline; no blank lines around it."""
        document = _Markdown("", hyperlinks=False)
        document.parsed = parse(harmless(text).expandtabs(4))
        return self._draw(document, width).strip("\n") + "\n"

    def text(self, text: str, width: int, style: str = "", *, mark: str = "") -> str:
        """Plain text behind a mark, wrapped with a hanging indent."""
        words = Text(harmless(text).expandtabs(4), style=style, overflow="fold")
        if not mark:
            return self._draw(words, width)
        grid = Table.grid()
        grid.add_column(no_wrap=True)
        grid.add_column()
        grid.add_row(Text(mark, style=style), words)
        return self._draw(grid, width)

    def line(self, parts: list[tuple[str, str]], width: int) -> str:
        """One line of styled pieces, cut with an ellipsis where it would not fit."""
        text = Text()
        for piece, style in parts:
            text.append(" ".join(harmless(piece).split("\n")), style)
        text.truncate(max(width - 1, 1), overflow="ellipsis")
        return self._draw(text, width)

    def _draw(self, what: RenderableType, width: int) -> str:
        self._console.width = width
        with self._console.capture() as capture:
            self._console.print(what)
        return _TRAILING.sub(r"\1", capture.get())
