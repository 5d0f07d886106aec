"""At night only what changed is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, cast
from zoneinfo import ZoneInfo

import msgspec
import pytest

from nanobot.app.gateway_parts import Parts
from nanobot.plugins.evals.cases import CaseFile, parsed
from nanobot.plugins.evals.evaluation import result_of
from nanobot.plugins.evals.nightly import Nightly, due
from nanobot.plugins.evals.report import changes
from nanobot.plugins.evals.results import AttemptView, Evaluation, State
from nanobot.plugins.library.message_bus import MessageBus
from nanobot.testing.machine import ManualClock
from tests.doubles.openai_server import Answer, OpenAIServer
from tests.plugins.evals.home import WEATHER, EvalHome, forecast

DAY = 86_400.0
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


NIGHTLY = '\n[evals]\nnightly = "03:30"\nreport_to = "telegram:1001"\n'
EVENING = datetime(2026, 3, 3, 22, 0, tzinfo=UTC).timestamp()


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[EvalHome]:
    async with OpenAIServer(forecast) as server:
        home = EvalHome(tmp_path / "home", server)
        home.environ["TZ"] = "UTC"
        home.case(WEATHER)
        yield home


async def until_night(parts: Parts, clock: ManualClock, before: str = "") -> Any:
    """Let time pass until another evaluation was made; returns it."""
    async with asyncio.timeout(60):
        while True:
            clock.advance(3_600.0)
            for _ in range(12):
                await asyncio.sleep(0.005)
                last = await parts.operations.call("evals show", {})
                if last and last[0].id != before:
                    return last[0]


async def reports(parts: Parts, count: int) -> list[str]:
    """What the chat was told so far."""
    async with asyncio.timeout(20):
        while True:
            rows = await parts.operations.call("outbox list", {})
            if len(rows) >= count:
                assert {row.address for row in rows} <= {"telegram:1001"}
                return [row.text for row in reversed(rows)]
            await asyncio.sleep(0.01)


@pytest.mark.process
async def test_a_gateway_evaluates_every_night_and_tells_only_what_changed(
    home: EvalHome,
) -> None:
    home.configure(NIGHTLY)
    clock = ManualClock(EVENING, instant=False)
    async with home.serving(clock) as parts:
        first = await until_night(parts, clock)
        assert first.results[0].state == "passed"
        assert datetime.fromtimestamp(first.at, UTC).strftime("%d. %H:%M") == "04. 04:00"
        second = await until_night(parts, clock, first.id)
        assert second.results[0].state == "passed"
        assert await reports(parts, 0) == []

        home.server.script = lambda _body: Answer("It will be sunny.")
        third = await until_night(parts, clock, second.id)
        (told,) = await reports(parts, 1)
        assert "Evals changed overnight:" in told
        assert "- weather fails now with fake/good: calls web_search" in told
        fourth = await until_night(parts, clock, third.id)
        assert (third.results[0].state, fourth.results[0].state) == ("failed", "failed")
        assert await reports(parts, 1) == [told]

        home.server.script = forecast
        await until_night(parts, clock, fourth.id)
        assert "- weather passes again with fake/good." in (await reports(parts, 2))[1]


async def test_a_night_ends_at_its_limit_of_cost_which_is_no_change(home: EvalHome) -> None:
    home.configure(f"{NIGHTLY}runs = 50\nmax_cost = 0.01\n")
    clock = ManualClock(EVENING, instant=False)
    async with home.serving(clock) as parts:
        made = await until_night(parts, clock)
        usage = await parts.operations.call("usage", {})
    states = [attempt.state for attempt in made.results[0].attempts]
    assert "(evals.max_cost) is reached" in made.stopped
    assert states.count("not_run") > 30
    (day,) = [each for each in usage.limits if (each.level, each.measure) == ("all", "cost")]
    assert 0.01 <= made.spent <= day.used < 0.02


async def test_a_night_without_a_case_is_told_with_the_remedy(home: EvalHome) -> None:
    home.configure(NIGHTLY)
    (home.folder / "evals" / "weather.toml").unlink()
    clock = ManualClock(EVENING, instant=False)
    async with home.serving(clock) as parts:
        for _ in range(8):
            clock.advance(3_600.0)
            await asyncio.sleep(0.02)
        (told,) = await reports(parts, 1)
    assert told.startswith("The nightly evaluation was not made: ")
    assert "no case; `nanobot evals add RUN` makes one of a run" in told


class Noted(Nightly):
    """Notes the nights instead of evaluating."""

    days: ClassVar[list[str]] = []

    async def once(self, day: str) -> None:
        self.days.append(day)


class Settings(msgspec.Struct):
    nightly: str = "04:00"


class Nights:
    """Each night is the first."""

    settings = Settings()

    async def first_tonight(self, _: str) -> bool:
        return True


async def nights_of(count: int) -> None:
    """Let time pass until there were so many, or for a week."""
    for _ in range(7 * 24 * 6 * 4):
        if len(Noted.days) == count:
            return
        await asyncio.sleep(0)


@pytest.mark.parametrize("jump", [sign * by * DAY for by in (0.5, 1, 3, 400) for sign in (-1, 1)])
async def test_a_clock_that_is_set_puts_off_no_evaluation_by_more_than_a_day(jump: float) -> None:
    clock, nights = ManualClock(EVENING), cast("Any", Nights())
    Noted.days.clear()
    task = asyncio.create_task(Noted(nights, MessageBus(), clock, ZoneInfo("UTC")).run())
    await nights_of(1)
    clock.set_by(jump)
    began = clock.monotonic()
    await nights_of(2)
    task.cancel()
    assert clock.monotonic() - began <= 2 * DAY + 1
