"""Lines of a Chinese text on a terminal."""

from __future__ import annotations

from nanobot.plugins.common.widths import columns
from nanobot.text import pattern

_PIECES = pattern(r"[\u2e80-\uffef][，。；：、）]*|[^\s\u2e80-\uffef]+|\s+")


def folded(text: str, width: int) -> list[str]:
    """A Chinese text in lines of this many columns: between characters, but not within a word of
    another language, and not before punctuation."""
    lines, line, taken = [], "", 0
    for piece in _PIECES.findall(text):
        wide = columns(piece)
        if line and taken + wide > width:
            lines.append(line.rstrip())
            line, taken = ("", 0) if piece.isspace() else (piece, wide)
        else:
            line, taken = line + piece, taken + wide
    return [*lines, line.rstrip()]
