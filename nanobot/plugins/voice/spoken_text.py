"""The text of an answer for reading aloud, without parts that only make sense on a screen."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token

_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])
_ADDRESS = re.compile(r"https?://(?:www\.)?([^\s/<>()]+)[^\s<>()]*")
_ENDED = (".", "!", "?", ":", ";", ",", "…")
_BLOCKS = {"paragraph_close", "heading_close", "tr_close", "list_item_close"}


def spoken(text: str) -> str:
    """The spoken form of a text. Code, images and markup are left out; a link is spoken as its
    text, a bare URL as its host. "" if there is nothing to say.
    """
    pieces: list[str] = []
    for piece in _pieces(_PARSER.parse(text)):
        if piece != "\n":
            pieces.append(piece)
        elif pieces and pieces[-1] != "\n":
            pieces.append("\n")
    lines = (" ".join(line.split()) for line in "".join(pieces).split("\n"))
    return "\n".join(line if line.endswith(_ENDED) else f"{line}." for line in lines if line)


def _pieces(tokens: Sequence[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type == "inline":
            yield from _inline(token.children or ())
        elif token.type in _BLOCKS:
            yield "\n"
        elif token.type in {"td_close", "th_close"}:
            yield ", "


def _inline(tokens: Sequence[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type in {"text", "code_inline"}:
            yield _ADDRESS.sub(r"\1", token.content)
        elif token.type in {"softbreak", "hardbreak"}:
            yield "\n" if token.type == "hardbreak" else " "
