"""Markdown as a terminal shows it: drawn with rich, settled block by block while it is written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import StringIO

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich import box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.markdown import (
    CodeBlock,
    Heading,
    HorizontalRule,
    ListItem,
    Markdown,
    MarkdownElement,
    TableElement,
)
from rich.padding import Padding
from rich.rule import Rule
from rich.segment import Segment
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

from nanobot.cli.output import harmless

# Readable on dark and on light terminals alike: no background, only the terminal's own colours.
_THEME = Theme(
    {
        "markdown.code": "cyan",
        "markdown.block_quote": "dim",
        "markdown.list": "default",
        "markdown.item.number": "bold",
        "markdown.h1": "bold underline",
        "markdown.h2": "bold underline",
        "markdown.h3": "bold",
        "markdown.h4": "bold",
        "markdown.table.border": "dim",
        "markdown.table.header": "bold",
    }
)
_FENCE = re.compile(r" {0,3}(?:```|~~~)\S*")
_TRAILING = re.compile(r" +((?:\x1b\[[0-9;]*m)*)$")


def parse(text: str) -> list[Token]:
    """The tokens of a text. HTML is text like any other, for a terminal cannot show it."""
    parser = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])
    return parser.parse(text)


def settled(text: str) -> int:
    """How much of a text that is still being written will look the same whatever comes after.

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


class _Heading(Heading):
    LEVEL_ALIGN = dict.fromkeys(Heading.LEVEL_ALIGN, "left")


class _Code(CodeBlock):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = str(self.text).rstrip()
        syntax = Syntax(code, self.lexer_name, theme="ansi_dark", background_color="default")
        text = syntax.highlight(code)
        text.rstrip()
        text.no_wrap, text.overflow = False, "fold"
        yield Padding(text, (0, 0, 0, 2))


class _Item(ListItem):
    def render_number(
        self, console: Console, options: ConsoleOptions, number: int, last_number: int
    ) -> RenderResult:
        label = f" {str(number).rjust(len(str(last_number)))}. "
        inner = options.update(width=options.max_width - len(label))
        lines = console.render_lines(self.elements, inner, style=self.style)
        for at, line in enumerate(lines):
            yield Segment(label if at == 0 else " " * len(label))
            yield from line
            yield Segment.line()


class _Table(TableElement):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, border_style="dim")
        if self.header is not None and self.header.row is not None:
            for cell in self.header.row.cells:
                table.add_column(cell.content, justify=cell.justify, overflow="fold")
        for row in self.body.rows if self.body is not None else ():
            table.add_row(*(cell.content for cell in row.cells))
        yield table


class _Rule(HorizontalRule):
    new_line = True

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Rule(style="dim", characters="─")


class _Markdown(Markdown):
    """As people write in chats: a new line is a new line, and a link shows where it leads."""

    elements: dict[str, type[MarkdownElement]] = {  # type: ignore[misc]  # noqa: RUF012 - as in rich
        **Markdown.elements,
        "heading_open": _Heading,
        "fence": _Code,
        "code_block": _Code,
        "hr": _Rule,
        "list_item_open": _Item,
        "table_open": _Table,
    }

    def __init__(self, markup: str) -> None:
        super().__init__("")
        self.parsed = parse(markup)
        for token in self.parsed:
            if token.children:
                token.children = list(_plain_links(token.children))


def _plain_links(tokens: list[Token]) -> Iterator[Token]:
    """The inline tokens with each link as its text and, where that differs, its address."""
    href, shown = "", ""
    for token in tokens:
        if token.type == "softbreak":
            token.type = "hardbreak"
        if token.type == "link_open":
            href, shown = str(token.attrs.get("href", "")), ""
        elif token.type == "link_close":
            if shown not in (href, href.removeprefix("mailto:")):
                yield Token("text", "", 0, content=f" ({href})")
        else:
            shown += token.content
            yield token


class Ink:
    """Draws for a terminal: text with its control sequences, or without any if colour is off."""

    def __init__(self, *, colour: bool) -> None:
        self._colour = colour

    def markdown(self, text: str, width: int, style: str = "") -> str:
        """A whole text, ended by a new line; no blank lines around it."""
        drawn = self._draw(_Markdown(harmless(text).expandtabs(4)), width, style)
        return drawn.strip("\n") + "\n"

    def text(self, text: str, width: int, style: str = "", *, indent: str = "") -> str:
        """Plain text, wrapped; lines after the first are indented."""
        lines: list[str] = []
        for line in harmless(text).expandtabs(4).split("\n"):
            room = max(width - len(indent), 8)
            wrapped = Text(line, end="").wrap(Console(width=room, file=StringIO()), room)
            lines += [part.plain.rstrip() for part in wrapped] or [""]
        return self._draw(Text(f"\n{indent}".join(lines)), width, style)

    def line(self, parts: list[tuple[str, str]], width: int) -> str:
        """One line of styled pieces, cut with an ellipsis where it would not fit."""
        text = Text(end="")
        for piece, style in parts:
            text.append(" ".join(harmless(piece).split("\n")), style)
        text.truncate(max(width - 1, 1), overflow="ellipsis")
        return self._draw(text, width)

    def _draw(self, what: RenderableType, width: int, style: str = "") -> str:
        drawn = StringIO()
        console = Console(
            file=drawn,
            width=width,
            height=100,
            force_terminal=self._colour,
            color_system="standard" if self._colour else None,
            no_color=not self._colour,
            highlight=False,
            emoji=False,
            markup=False,
            theme=_THEME,
            legacy_windows=False,
            _environ={},
        )
        console.print(what, style=style or None, soft_wrap=False)
        return "\n".join(_TRAILING.sub(r"\1", line) for line in drawn.getvalue().split("\n"))
