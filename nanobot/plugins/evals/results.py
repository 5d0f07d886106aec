"""The results of an evaluation, as they are stored and shown."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from nanobot.text import Sentence

State: TypeAlias = Literal["passed", "failed", "unreachable", "not_run"]


class Verdict(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of one check. `reason`: why it failed, or the judge's reason."""

    check: str
    passed: bool
    reason: Sentence = ""


class AttemptView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One attempt. `unrecorded`: calls refused because the recording has no answer to them."""

    state: State
    answer: str = ""
    cost: float | None = None
    seconds: float = 0.0
    calls: tuple[str, ...] = ()
    unrecorded: tuple[str, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    error: Sentence = ""


class CaseResult(msgspec.Struct, frozen=True, kw_only=True):
    """The results of one case with one model. `variance` is the variance of passing, from 0 (always
    the same) to 0.25; `cost` and `seconds` are means, with their standard deviations. `cost` is
    None if a price is not known.
    """

    case: str
    model: str
    state: State
    passed: int
    runs: int
    variance: float
    cost: float | None
    cost_deviation: float | None
    seconds: float
    seconds_deviation: float
    unrecorded: int
    why: Sentence
    attempts: tuple[AttemptView, ...]


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """The results of one evaluation. `spent`: the cost of attempts and judges, as far as prices are
    known. `stopped`: why not all attempts were made.
    """

    id: str
    at: float
    folder: str
    results: tuple[CaseResult, ...]
    spent: float = 0.0
    stopped: Sentence = ""

    @property
    def passed(self) -> bool:
        """Whether every attempt at every case passed."""
        return all(result.state == "passed" for result in self.results)

    @property
    def unreachable(self) -> list[CaseResult]:
        """The cases that could not be run."""
        return [result for result in self.results if result.state == "unreachable"]
