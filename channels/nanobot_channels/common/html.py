"""Converts the model's Markdown to HTML for chat platforms, in which nothing is loaded, styled or
executed.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from markdown_it.common.utils import escapeHtml

from nanobot_channels.common.parsing import markdown_parser

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererHTML
    from markdown_it.token import Token

_SCHEMES = ("http://", "https://", "ftp://", "mailto:", "magnet:")


def html_parser() -> MarkdownIt:
    """A parser with CommonMark, tables and strikethrough. Its renderer turns images into links and
    omits titles and alignment; line ends within a paragraph are kept.
    """
    parser = markdown_parser(breaks=True)
    parser.add_render_rule("text", _text)
    parser.add_render_rule("image", _image)
    parser.add_render_rule("link_open", _link_open)
    for cell in ("th_open", "td_open"):
        parser.add_render_rule(cell, _cell)
    return parser


def _text(_self: RendererHTML, tokens: Sequence[Token], at: int, *_: object) -> str:
    """Text; literal text contains line ends."""
    return escapeHtml(tokens[at].content).replace("\n", "<br />\n")


def _image(_self: RendererHTML, tokens: Sequence[Token], at: int, *_: object) -> str:
    """A link instead of the image: loading an image would tell its server that it was seen, and
    could leak data in the URL.
    """
    token = tokens[at]
    target = str(token.attrs.get("src") or "")
    words = escape(token.content or target)
    return f'<a href="{escape(target)}">{words}</a>' if target.startswith(_SCHEMES) else words


def _link_open(_self: RendererHTML, tokens: Sequence[Token], at: int, *_: object) -> str:
    return f'<a href="{escape(str(tokens[at].attrs.get("href") or ""))}">'


def _cell(_self: RendererHTML, tokens: Sequence[Token], at: int, *_: object) -> str:
    return f"<{tokens[at].tag}>"
