"""At night only what changed is told."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from nanobot.plugins.evals.cases import CaseFile, parsed
from nanobot.plugins.evals.evaluation import AttemptView, Evaluation, State, result_of
from nanobot.plugins.evals.nightly import due
from nanobot.plugins.evals.report import changes
from tests.plugins.evals.home import WEATHER

CASE = CaseFile(path="weather.toml", case=parsed(WEATHER, "weather.toml"))


def evaluation(*states: State) -> Evaluation:
    attempts = [AttemptView(state=state) for state in states]
    return Evaluation(id="e", at=0.0, folder="f", results=(result_of(CASE, "a/b", attempts),))


def test_what_stays_the_same_is_not_told() -> None:
    for state in ("passed", "failed"):
        assert changes(evaluation(state), evaluation(state)) == []


def test_a_case_that_fails_now_or_passes_again_is_told() -> None:
    assert changes(evaluation("passed"), evaluation("passed", "failed")) == [
        "weather fails now with a/b."
    ]
    assert changes(evaluation("failed"), evaluation("passed")) == ["weather passes again with a/b."]


def test_a_model_that_is_away_or_has_no_budget_is_no_change() -> None:
    assert changes(evaluation("passed"), evaluation("unreachable")) == []
    assert changes(evaluation("passed"), evaluation("not_run")) == []


def test_the_next_night_is_today_or_tomorrow_by_the_clock_on_the_wall() -> None:
    evening = datetime(2026, 3, 28, 22, 0, tzinfo=ZoneInfo("Europe/Berlin"))
    assert due(evening, "22:30").isoformat() == "2026-03-28T22:30:00+01:00"
    assert due(evening, "03:30").isoformat() == "2026-03-29T03:30:00+02:00"
