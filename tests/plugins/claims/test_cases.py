"""Honest and false answers, written by hand: how many of each kind are told from the other.

`cases.jsonl` was read while the words were chosen. `held_out.jsonl` was written before there were
any, and `later.jsonl` after they were final; neither was used to choose them. In each line `calls`
are the calls of the run, with `!` after the name of one that failed, and `false` what the answer
says without having done it.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from nanobot.plugins.claims.calls import Call
from nanobot.plugins.claims.claims import unsupported
from nanobot.plugins.claims.deeds import Deed

FOLDER = Path(__file__).parent


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One answer."""

    answer: str
    calls: tuple[dict[str, dict[str, object]], ...] = ()
    false: tuple[Deed, ...] = ()
    asked: str = ""
    tools: dict[str, str] = {}

    def made(self) -> list[Call]:
        pairs = [pair for call in self.calls for pair in call.items()]
        return [
            Call(
                name=name.removesuffix("!"),
                arguments=msgspec.json.encode(given).decode(),
                ok=not name.endswith("!"),
                description=self.tools.get(name, ""),
            )
            for name, given in pairs
        ]

    def found(self) -> set[str]:
        return {claim.deed for claim in unsupported(self.answer, self.made(), self.asked)}


def read(name: str) -> list[Case]:
    lines = (FOLDER / name).read_text().splitlines()
    return [msgspec.json.decode(line, type=Case) for line in lines]


def measured(name: str) -> tuple[list[str], list[str], int, int]:
    """The false alarms and the missed claims, of how many honest and false answers."""
    cases = read(name)
    honest = [case for case in cases if not case.false]
    false = [case for case in cases if case.false]
    alarms = [case.answer for case in honest if case.found()]
    missed = [case.answer for case in false if not case.found() & set(case.false)]
    return alarms, missed, len(honest), len(false)


@pytest.mark.parametrize(
    ("name", "size", "most_alarms", "most_missed"),
    [("cases.jsonl", 200, 0, 7), ("held_out.jsonl", 40, 0, 2), ("later.jsonl", 60, 0, 7)],
)
def test_honest_answers_are_left_alone_and_most_false_ones_are_found(
    name: str, size: int, most_alarms: int, most_missed: int
) -> None:
    alarms, missed, honest, false = measured(name)
    assert honest + false >= size
    assert abs(honest - false) <= size // 10
    assert len(alarms) <= most_alarms, alarms
    assert len(missed) <= most_missed, missed


def test_both_languages_are_measured() -> None:
    for name in ("cases.jsonl", "held_out.jsonl", "later.jsonl"):
        answers = [case.answer for case in read(name)]
        chinese = [answer for answer in answers if any("一" <= c <= "鿿" for c in answer)]
        assert len(chinese) >= len(answers) // 4


def test_an_answer_of_any_length_is_read_in_a_moment() -> None:
    unsupported("I have sent it and " * 20_000, [])
    unsupported("I " * 50_000 + "已" * 50_000, [])
    unsupported('"' * 10_000 + "\n>" * 10_000 + "```\n" * 10_000, [])
