"""The columns that a text takes on a terminal, and lines of so many of them."""

from __future__ import annotations

import unicodedata


def wrapped(text: str, width: int) -> list[str]:
    """The text in lines of at most this many columns, broken between words if possible."""
    lines, words = [""], text.split(" ")
    for word in words:
        longer = f"{lines[-1]} {word}".lstrip()
        if columns(longer) <= width:
            lines[-1] = longer
            continue
        lines += [word] if lines[-1] else []
        lines[-1] = word
        while columns(lines[-1]) > width:
            head = cut(lines[-1], width)[:-1]
            lines[-1:] = [head, lines[-1][len(head) :]]
    return lines


def columns(text: str) -> int:
    """The number of terminal columns of a text: wide characters take two."""
    return sum(_columns(character) for character in text)


def padded(text: str, width: int) -> str:
    """The text, with spaces up to this many columns."""
    return text + " " * (width - columns(text))


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cut(text: str, width: int) -> str:
    """The text, or as much of it as fits."""
    if columns(text) <= width:
        return text
    kept, taken = "", 0
    for character in text:
        taken += _columns(character)
        if taken > width - 1:
            break
        kept += character
    return f"{kept}…"
