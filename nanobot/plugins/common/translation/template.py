"""A text with holes, and what is in the holes of a text that was made of it."""

from __future__ import annotations

import msgspec

from nanobot.text import pattern

_PIECES = pattern(r"\{\{|\}\}|\{(\d+)(:text)?\}|[^{}]+")
_LETTERS = pattern(r"[A-Za-z]")
_FEW = 8
"""With fewer letters of its own, a template could be found in any text."""

_SIGNS = 12


class Hole(msgspec.Struct, frozen=True):
    """A place for a value. `text`: the value is another text of nanobot's."""

    number: int
    text: bool = False


class Template(msgspec.Struct, frozen=True):
    """`literals` are what is around the holes: one more than these, possibly empty. `full_stop`:
    the text ends with one, which is not part of `literals`."""

    literals: tuple[str, ...]
    holes: tuple[Hole, ...]
    full_stop: bool = False

    @classmethod
    def read(cls, text: str) -> Template:
        """A template as it is written: {0} is a hole, {0:text} one for another text, {{ a brace.
        Raises ValueError for a brace that is neither."""
        literals, holes, at = [""], [], 0
        for piece in _PIECES.finditer(text):
            if piece.start() != at:
                break
            at = piece.end()
            if piece[1] is None:
                literals[-1] += {"{{": "{", "}}": "}"}.get(piece[0], piece[0])
            else:
                holes.append(Hole(int(piece[1]), piece[2] is not None))
                literals.append("")
        if at != len(text):
            raise ValueError(f"a brace that is not doubled: {text[at : at + 40]!r}")
        full_stop = ends_with_full_stop(literals[-1])
        if full_stop:
            literals[-1] = literals[-1][:-1]
        return cls(tuple(literals), tuple(holes), full_stop)

    @property
    def weight(self) -> int:
        """The letters that are its own: of two that fit, the heavier one is meant."""
        return sum(len(_LETTERS.findall(literal)) for literal in self.literals)

    @property
    def weak(self) -> bool:
        """Whether its own words are so few that any text could have them. Many signs between its
        values make up for some letters."""
        signs = self.weight >= _FEW // 2 and sum(map(len, self.literals)) >= _SIGNS
        return bool(self.holes) and self.weight < _FEW and not signs

    def values(self, text: str) -> list[str] | None:
        """What is in the holes of a text; None: the text was not made of this template. Of several
        ways to divide the text, each hole has the shortest value, from the left. The work is linear
        in the length of the text."""
        first, last = self.literals[0], self.literals[-1]
        if not self.holes:
            return [] if _same(text, first) else None
        if len(text) < len(first) + len(last) or (self.weak and not text.startswith(first)):
            return None
        if not _same(text[: len(first)], first) or not text.endswith(last):
            return None
        at, end, values = len(first), len(text) - len(last), []
        for literal in self.literals[1:-1]:
            found = text.find(literal, at, end)
            if found < 0:
                return None
            values.append(text[at:found])
            at = found + len(literal)
        values.append(text[at:end])
        if self.weak and any(map(_several_words, self.holes, values)):
            return None
        return values

    def filled(self, values: dict[int, str]) -> str:
        """The text with these values in its holes, by their numbers."""
        pieces = [self.literals[0]]
        for hole, literal in zip(self.holes, self.literals[1:], strict=True):
            pieces += [values[hole.number], literal]
        return "".join(pieces)


def ends_with_full_stop(text: str) -> bool:
    """Whether a text ends as a sentence does."""
    return text.endswith(("。", ".")) and not text.endswith("..")


def _same(text: str, literal: str) -> bool:
    """Whether they are equal, but for the case of the first letter."""
    return text[1:] == literal[1:] and text[:1].lower() == literal[:1].lower()


def _several_words(hole: Hole, value: str) -> bool:
    return not hole.text and (not value or any(map(str.isspace, value)))
