"""The text of an answer while it is being received."""

from __future__ import annotations

from nanobot.text import pattern

# Half an emoji: servers split text between the two halves of its escape.
_HALF = pattern("[\ud800-\udfff]")


class GrowingText:
    """Text received in pieces. Half an emoji waits for its other half."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._half = ""

    def add(self, piece: str) -> str:
        """The part of the piece that can be shown now."""
        if self._half or (not piece.isascii() and _HALF.search(piece)):
            piece, self._half = self._half + piece, ""
            if "\ud800" <= piece[-1:] <= "\udbff":
                piece, self._half = piece[:-1], piece[-1]
            piece = piece.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        if piece:
            self._pieces.append(piece)
        return piece

    def whole(self) -> str:
        return "".join(self._pieces) + ("\ufffd" if self._half else "")
