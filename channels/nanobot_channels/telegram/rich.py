"""Answers as Telegram's rich messages: for content that entities cannot show, or that is too long
for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from html import escape
from typing import TYPE_CHECKING

from nanobot.text import pattern
from nanobot_channels.common.pieces import pieces
from nanobot_channels.common.text import clean, utf16_units

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererHTML
    from markdown_it.rules_core import StateCore
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

RICH_LIMIT = 32_768
"""Characters of a rich message. The Bot API sets all of these limits (rich message formatting
options).
"""
_BLOCKS = 500
_LINES = _BLOCKS // 2 - 10
"""A line of a list counts as an item and its paragraph."""
_NESTING = 16
_COLUMNS = 20
# A text without any of these is not worth a parser's time.
_LIKELY = pattern(r"^ {0,3}#{1,6}[ \t]|^.*\|.*\n.*--|\[[ xX]\] |\$\$|\\[(\[]", re.MULTILINE)
_TASK = pattern(r"\[([ xX])\][ \t]+")
_TARGET = pattern(r"(?:https?://|mailto:|tel:)", re.IGNORECASE)
_FORMULAS = {"$$": "$$", "\\(": "\\)", "\\[": "\\]"}
_SHOWN_RICHLY = {"heading_open", "table_open", "math", "task"}
_COUNTED = {"paragraph_open", "heading_open", "list_item_open", "tr_open", "blockquote_open"}
_COUNTED |= {"fence", "code_block", "hr", "bullet_list_open", "ordered_list_open", "table_open"}


def rich_html(text: str, entities_limit: int) -> str:
    """The text as the HTML of a rich message; "" if entities show the same within
    `entities_limit` UTF-16 units, or if it is beyond the limits of rich messages.

    Headings, tables, task lists and formulas (within two dollar signs, or in LaTeX's brackets) are
    what entities cannot show. Raw HTML is literal, images are links.
    """
    text = clean(text).strip("\n")
    long = utf16_units(text) > entities_limit
    if len(text) > RICH_LIMIT or not (long or _LIKELY.search(text)):
        return ""
    parser = _parser()
    tokens = parser.parse(text)
    if not (long or _kinds(tokens) & _SHOWN_RICHLY) or not _fits(tokens):
        return ""
    html: str = parser.renderer.render(tokens, parser.options, {})
    return html.strip("\n")


def pages(text: str) -> list[str]:
    """The Markdown in pieces that each fit into one rich message, divided between blocks.

    A block that is too large by itself is divided inside: lists between their items, tables between
    their rows (with their head in each piece), code between its lines.
    """
    text = clean(text).strip("\n")
    if len(text) <= RICH_LIMIT and text.count("\n") < _BLOCKS:
        return [text]
    lines, grouped = text.split("\n"), list[str]()
    blocks = 0
    for source, count in _blocks(lines):
        together = f"{grouped[-1]}\n\n{source}" if grouped else source
        if grouped and len(together) <= RICH_LIMIT and blocks + count <= _BLOCKS:
            grouped[-1], blocks = together, blocks + count
        else:
            grouped.append(source)
            blocks = count
    return grouped


def _blocks(lines: Sequence[str]) -> Iterator[tuple[str, int]]:
    """The top-level blocks of a text, none too large, with the number of blocks that Telegram
    counts.
    """
    tokens = _parser().parse("\n".join(lines))
    roots = [at for at, token in enumerate(tokens) if token.level == 0 and token.nesting >= 0]
    for at, following in zip(roots, [*roots[1:], len(tokens)], strict=True):
        token = tokens[at]
        if token.map is None:
            continue
        source = "\n".join(lines[token.map[0] : token.map[1]]).rstrip("\n")
        count = sum(each.type in _COUNTED for each in tokens[at:following])
        if len(source) <= RICH_LIMIT and count <= _BLOCKS:
            yield source, count
        else:
            yield from _within(token.type, source)


def _within(kind: str, source: str) -> Iterator[tuple[str, int]]:
    """A block that is too large for one message, in pieces with the most that they count."""
    head = ""
    if kind == "table_open":
        first, delimiter, source = source.split("\n", 2)
        head = f"{first}\n{delimiter}\n"
    most = RICH_LIMIT - len(head)
    lines = source.split("\n")
    if kind == "fence" or any(len(line) > most for line in lines) or len(head) > RICH_LIMIT // 2:
        yield from ((piece, 1) for piece in pieces(source, RICH_LIMIT, RICH_LIMIT, len))
        return
    piece, size = list[str](), 0
    for line in lines:
        if piece and (size + len(line) + 1 > most or len(piece) >= _LINES):
            yield head + "\n".join(piece), _BLOCKS
            piece, size = [], 0
        piece.append(line)
        size += len(line) + 1
    yield head + "\n".join(piece), _BLOCKS


def _kinds(tokens: Sequence[Token]) -> set[str]:
    kinds = {token.type for token in tokens}
    return kinds.union(*({child.type for child in token.children or ()} for token in tokens))


def _fits(tokens: Sequence[Token]) -> bool:
    if sum(token.type in _COUNTED for token in tokens) > _BLOCKS:
        return False
    if any(token.level >= _NESTING - 2 for token in tokens):  # two are reserved for styling
        return False
    columns = most = 0
    for token in tokens:
        columns = 0 if token.type == "tr_open" else columns + (token.type in {"th_open", "td_open"})
        most = max(most, columns)
    return most <= _COLUMNS


@cache
def _parser() -> MarkdownIt:
    from nanobot_channels.common.html import html_parser  # noqa: PLC0415 - its 30 ms can wait

    parser = html_parser()
    parser.inline.ruler.before("escape", "math", _formula)
    parser.core.ruler.push("finish", _finish)
    for kind, rule in (
        ("math", _math),
        ("task", _checkbox),
        ("table_open", _table_open),
        ("th_open", _cell),
        ("td_open", _cell),
    ):
        parser.add_render_rule(kind, rule)
    return parser


def _formula(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - as the parser calls it
    closing = _FORMULAS.get(state.src[state.pos : state.pos + 2])
    if closing is None:
        return False
    end = state.src.find(closing, state.pos + 2, state.posMax)
    formula = state.src[state.pos + 2 : end].strip() if end > 0 else ""
    if not formula:
        return False
    if not silent:
        token = state.push("math", "", 0)
        token.content = formula
    state.pos = end + 2
    return True


def _finish(state: StateCore) -> None:
    """Add boxes to task lists, turn standalone formulas into blocks, and write out the targets of
    links that no client opens.
    """
    tokens = state.tokens
    for at, token in enumerate(tokens):
        if token.type != "inline" or not token.children:
            continue
        opening, closing = tokens[at - 1], tokens[at + 1]
        token.children = list(_with_targets(token.children))
        if at > 1 and tokens[at - 2].type == "list_item_open":
            token.children = _with_box(token.children)
        if [child.type for child in token.children] == ["math"] and opening.tag == "p":
            token.children[0].block = opening.hidden = closing.hidden = True


def _with_box(children: list[Token]) -> list[Token]:
    first = children[0]
    match = _TASK.match(first.content) if first.type == "text" else None
    if match is None:
        return children
    box = type(first)("task", "", 0, content=match[1])
    first.content = first.content[match.end() :]
    return [box, *children]


def _with_targets(children: Sequence[Token]) -> Iterator[Token]:
    targets: list[str] = []
    for child in children:
        if child.type == "link_open":
            target = str(child.attrs.get("href") or "")
            targets.append("" if _TARGET.match(target) else target)
            if targets[-1]:
                continue
        elif child.type == "link_close" and (target := targets.pop()):
            yield type(child)("text", "", 0, content=f" ({target})")
            continue
        yield child


def _math(_self: RendererHTML, tokens: Sequence[Token], at: int, *_: object) -> str:
    tag = "tg-math-block" if tokens[at].block else "tg-math"
    return f"<{tag}>{escape(tokens[at].content, quote=False)}</{tag}>"


def _checkbox(_self: RendererHTML, tokens: Sequence[Token], at: int, *_: object) -> str:
    return f'<input type="checkbox"{"" if tokens[at].content == " " else " checked"}/>'


def _table_open(*_: object) -> str:
    return "<table bordered striped>"


def _cell(_self: RendererHTML, tokens: Sequence[Token], at: int, *_: object) -> str:
    """With its alignment, which the parser provides as a style."""
    align = re.search(r"text-align:(left|center|right)", str(tokens[at].attrs.get("style", "")))
    return f'<{tokens[at].tag} align="{align[1]}">' if align else f"<{tokens[at].tag}>"
