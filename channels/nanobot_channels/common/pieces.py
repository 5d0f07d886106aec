"""Divides Markdown source into pieces: code that continues in the next piece is fenced again
there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from nanobot.text import pattern
from nanobot_channels.common.text import Rich, Span, Style, clipped, split

_FENCE = pattern(r"^ *(`{3,20}|~{3,20})([^`\n]*)$", re.MULTILINE)
_LINK = pattern(r"\[[^\[\]\n]{0,200}\]\([^()\s]{1,1000}\)")
_FENCING = 200
_SHORTEST = 3 * _FENCING


def pieces(text: str, limit: int, most: int, size: Callable[[str], int]) -> Iterator[str]:
    """The text in pieces of at most `limit` characters and a `size` of at most `most`.

    A piece ends where `split` would end one, and never within a link. Nothing visible is lost; a
    blank text has no pieces.
    """
    for piece in _divided(text, limit):
        whole = size(piece)
        if whole <= most or limit <= _SHORTEST:
            yield piece
        else:
            shorter = min(limit * 9 // 10, len(piece) * most * 9 // (10 * whole))
            yield from pieces(piece, max(shorter, _SHORTEST), most, size)


def _divided(text: str, limit: int) -> Iterator[str]:
    if len(text) <= limit:
        yield from (part.text for part in split(Rich(text), limit))
        return
    code = list(_code(text))
    links = [Span(*link.span(), Style.LINK) for link in _LINK.finditer(text)]
    spans = tuple(sorted([*code, *links], key=lambda span: span.start))
    opening = ""
    for part in split(Rich(text, spans), limit - _FENCING):
        piece = f"{opening}\n{part.text}" if opening else part.text
        fence = next((opened for opened, closed in _fences(piece) if closed is None), None)
        opening = clipped(fence[0], _FENCING // 2) if fence else ""
        yield f"{piece}\n{fence[1]}" if fence else piece


def _code(text: str) -> Iterator[Span]:
    """The ranges of fenced code, whose indentation must survive a division."""
    for opened, closed in _fences(text):
        yield Span(opened.start(), closed.end() if closed else len(text), Style.PRE)


def _fences(text: str) -> Iterator[tuple[re.Match[str], re.Match[str] | None]]:
    """The beginning and the end of code, None if there is none."""
    opened: re.Match[str] | None = None
    for fence in _FENCE.finditer(text):
        if opened is None:
            opened = fence
        elif fence[1].startswith(opened[1]) and not fence[2].strip():
            yield opened, fence
            opened = None
    if opened is not None:
        yield opened, None
