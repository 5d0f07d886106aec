"""The texts of one language: finds the template that a text was made of, and says it in that
language with the same values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache

import msgspec

from nanobot.forgetting import forgettable
from nanobot.plugins.common.translation.template import Template, ends_with_full_stop
from nanobot.text import pattern

_LONGEST = 20_000
"""Characters of a text; longer ones stay as they are."""
_PARTS = 40
_TOGETHER = 6
"""Sentences that are looked up as one text."""
_DEEPEST = 4
_PREFIXES = 4
_ITEM = pattern(r"(\s*- )(?:(`[^`\n]*`): )?")
_ENDS = pattern(r"(?<=[.!?]) |; |\n+")


class Row(msgspec.Struct, frozen=True):
    """A template and its translation."""

    template: Template
    translation: Template

    @property
    def order(self) -> tuple[int, int]:
        """The heaviest rows are tried first, of equal ones the longest."""
        return -self.template.weight, -sum(map(len, self.template.literals))


class Catalogue:
    """The rows of a language, by template."""

    def __init__(self, rows: Mapping[str, str]) -> None:
        self.rows = dict(rows)
        self.translated = forgettable(lru_cache(2_048)(self._translated))
        self.within = forgettable(lru_cache(2_048)(self._within))

    def _translated(self, text: str) -> str:
        """The text in this language, as far as it is known: as a whole, else sentence by sentence.
        What is not found stays as it is."""
        if not text or len(text) > _LONGEST:
            return text
        return self._said(text, 0)

    def _within(self, text: str) -> str:
        """The same for a text that is certainly nanobot's, for which short templates count too."""
        return self._said(text, 1) if len(text) <= _LONGEST else text

    def _said(self, text: str, depth: int) -> str:
        if depth and "\n" in text:
            return "\n".join([self._said(line, depth) for line in text.split("\n")])
        every = self._every_sentence(text, depth)
        whole = self._whole(text, depth) if every is None else every
        if whole is not None:
            return whole
        return self._item(text, depth) if depth else self._in_parts(text, depth)

    def _every_sentence(self, text: str, depth: int) -> str | None:
        """The translation of several sentences, if each of them has a row of its own."""
        parts, joints = _split(text, _ENDS)
        if not 1 < len(parts) <= _PARTS:
            return None
        pieces: list[str] = []
        for part, joint in zip(parts, [*joints, ""], strict=True):
            said = self._whole(part, depth)
            if said is None:
                return None
            pieces += [said, _joint(joint, said) if joint else ""]
        return "".join(pieces)

    def _item(self, text: str, depth: int) -> str:
        """A line of a list, with what it is about in backquotes or without."""
        item = _ITEM.match(text)
        if item is None or depth >= _DEEPEST:
            return self._in_parts(text, depth)
        name = f"{item[2]}：" if item[2] else ""
        return f"{item[1]}{name}{self._said(text[item.end() :], depth + 1)}"

    def _whole(self, text: str, depth: int) -> str | None:
        """The translation of a text that one row has; None: no row has it. Brackets around a text
        do not belong to its row."""
        if depth < _DEEPEST and text.startswith("(") and text.find(")") == len(text) - 1:
            said = self._said(text[1:-1], depth + 1)
            return None if said == text[1:-1] else f"（{said}）"
        stop = ends_with_full_stop(text)
        bare = text[:-1] if stop else text
        for row in self._candidates(text):
            template = row.template
            if text.startswith("- ") and not template.literals[0]:
                continue  # the sign of a list is no value
            # A value at the end keeps its full stop.
            open_end = bool(template.holes) and not template.literals[-1] and not template.full_stop
            values = template.values(text if open_end else bare)
            if values is None:
                continue
            known = self._known(row, values, depth)
            if template.weak and not depth and list(known.values()) == values:
                continue
            said = row.translation.filled(known)
            return f"{said}。" if stop and not open_end and not said.endswith("。") else said
        return None

    def _known(self, row: Row, values: list[str], depth: int) -> dict[int, str]:
        """The values of the holes: those that are texts of nanobot's are translated."""
        return {
            hole.number: self._said(value, depth + 1) if hole.text and depth < _DEEPEST else value
            for hole, value in zip(row.template.holes, values, strict=True)
        }

    def _in_parts(self, text: str, depth: int) -> str:
        """The translation of several sentences that were joined."""
        parts, joints = _split(text, _ENDS)
        if len(parts) == 1:
            return self._after_prefix(text, depth)
        if len(parts) > _PARTS:
            lines = text.split("\n")
            return "\n".join([self._said(line, depth) for line in lines]) if lines[1:] else text
        pieces, at = [], 0
        while at < len(parts):
            for end in range(min(len(parts), at + _TOGETHER), at, -1):
                chunk = _joined(parts[at:end], joints[at : end - 1])
                said = None if chunk == text else self._whole(chunk, depth)
                if said is not None or end == at + 1:
                    pieces.append(self._after_prefix(chunk, depth) if said is None else said)
                    if end < len(parts):
                        pieces.append(_joint(joints[end - 1], pieces[-1]))
                    at = end
                    break
        return "".join(pieces)

    def _after_prefix(self, text: str, depth: int) -> str:
        """A text behind the name of what it is about, as in "channels.work: it is missing"."""
        at = -2
        for _ in range(_PREFIXES):
            at = text.find(": ", at + 2)
            if at < 0:
                break
            prefix, value = self._whole(text[:at], depth), text[at + 2 :]
            said = self._whole(value, depth)
            if said is None and 0 < depth < _DEEPEST:
                inner = self._said(value, depth + 1)
                said = inner if prefix is not None or inner != value else None
            if said is not None:
                return f"{prefix or text[:at]}：{said}"
        parts = text.split(", ")
        if 1 < len(parts) <= _PARTS:
            each = [self._whole(part, depth) for part in parts]
            if None not in each:
                return "，".join(part for part in each if part is not None)
        return text

    def _candidates(self, text: str) -> Iterable[Row]:
        return self._by_letter.get(text[:1].lower(), self._open)

    @cached_property
    def _all(self) -> list[Row]:
        read = [Row(Template.read(key), Template.read(said)) for key, said in self.rows.items()]
        return sorted(read, key=lambda row: row.order)

    @cached_property
    def _open(self) -> list[Row]:
        """The rows that begin with a hole."""
        return [row for row in self._all if row.template.holes and not row.template.literals[0]]

    @cached_property
    def _by_letter(self) -> dict[str, list[Row]]:
        """The rows that a text with this first letter can be made of."""
        letters = {row.template.literals[0][:1].lower() for row in self._all} - {""}
        return {
            letter: [
                row for row in self._all if row.template.literals[0][:1].lower() in ("", letter)
            ]
            for letter in letters
        }


def _split(text: str, ends: re.Pattern[str]) -> tuple[list[str], list[str]]:
    parts, joints, at = [], [], 0
    for end in ends.finditer(text):
        parts.append(text[at : end.start()])
        joints.append(end[0])
        at = end.end()
    return [*parts, text[at:]], joints


def _joined(parts: list[str], joints: list[str]) -> str:
    return "".join(f"{part}{joint}" for part, joint in zip(parts, [*joints, ""], strict=True))


def _joint(joint: str, before: str) -> str:
    """What is between two sentences behind one that was translated, or not."""
    if before.isascii():
        return joint
    return {" ": "", "; ": "；"}.get(joint, joint)
