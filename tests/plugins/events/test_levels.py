"""Levels begin and end episodes, one word each way."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.plugins.events.levels import (
    Level,
    LevelLimits,
    LevelSensor,
    Measure,
    Wording,
    crossed,
)
from nanobot.plugins.events.machine import level_sensors
from nanobot.plugins.events.settings import EventsSettings

LIMITS = LevelLimits(over=90, under=80, for_seconds=60)
READINGS = st.lists(
    st.tuples(st.floats(0, 1_000), st.floats(-500, 500)), max_size=60
)  # percent, seconds since the one before (a clock may be set back)


def run(readings: list[tuple[float, float]], limits: LevelLimits = LIMITS) -> list[str]:
    """What is told of readings at times."""
    level = Level()
    words: list[str] = []
    for percent, at in readings:
        crossing, level = crossed(percent, level, limits, at)
        if crossing:
            words.append(crossing)
    return words


def test_one_word_when_it_has_been_high_for_long_enough_and_one_when_it_is_low_again() -> None:
    readings = [(50, 0), (95, 10), (95, 69), (95, 70), (99, 80), (85, 90), (80, 100), (50, 110)]
    assert run([(float(p), float(at)) for p, at in readings]) == ["rose", "fell"]


def test_a_peak_that_ends_in_time_is_not_told() -> None:
    assert run([(95.0, 0.0), (95.0, 59.0), (89.0, 60.0), (95.0, 61.0), (95.0, 120.0)]) == []


def test_between_the_limits_nothing_changes() -> None:
    assert run([(95.0, 0.0), (95.0, 60.0), *((89.9, 60.0 + n) for n in range(1_000))]) == ["rose"]


def test_without_a_time_the_first_reading_tells() -> None:
    assert run([(90.0, 5.0)], LevelLimits(over=90, under=90, for_seconds=0)) == ["rose"]


def test_a_clock_that_was_set_back_delays_no_word() -> None:
    assert run([(95.0, 1_000.0), (95.0, 10.0), (95.0, 70.0)]) == ["rose"]


@given(READINGS, st.floats(0, 300), st.tuples(st.floats(1, 100), st.floats(1, 100)))
def test_words_alternate_whatever_is_read(
    steps: list[tuple[float, float]], for_seconds: float, limits: tuple[float, float]
) -> None:
    bounds = LevelLimits(over=max(limits), under=min(limits), for_seconds=for_seconds)
    readings, at = [], 0.0
    for percent, step in steps:
        at += step
        readings.append((percent, at))
    words = run(readings, bounds)
    assert words == ["rose", "fell"] * (len(words) // 2) + ["rose"] * (len(words) % 2)


@given(READINGS)
def test_nothing_is_told_of_what_never_reached_the_limit(steps: list[tuple[float, float]]) -> None:
    assert run([(min(percent, 89.9), at) for percent, at in steps]) == []


def sensor() -> LevelSensor:
    limits = LevelLimits(over=90, under=80, for_seconds=0)
    return LevelSensor("disk", 30, dict, limits, Wording("The disk at {of}", "is used"))


def test_each_mount_has_episodes_of_its_own_in_one_event() -> None:
    disk, full, free = sensor(), Measure(95.0, "1 GB is free"), Measure(10.0, "90 GB are free")
    event, state = disk.judge({"/": full, "/home": free, "/srv": full}, None, 100.0)
    assert event is not None
    assert event.text == (
        "The disk at / has been over 90 %: 95.0 % is used, 1 GB is free. "
        "The disk at /srv has been over 90 %: 95.0 % is used, 1 GB is free."
    )
    event, state = disk.judge({"/": full, "/home": free, "/srv": full}, state, 130.0)
    assert event is None
    event, state = disk.judge({"/": free, "/home": free, "/srv": full}, state, 160.0)
    assert event is not None
    assert event.text == (
        "The disk at / is down again, under 80 %: 10.0 % is used, 90 GB are free."
    )


def test_a_mount_that_vanishes_while_it_is_full_is_told_and_forgotten() -> None:
    disk, full = sensor(), Measure(95.0, "1 GB is free")
    _, state = disk.judge({"/mnt": full}, None, 0.0)
    event, state = disk.judge({}, state, 30.0)
    assert event is not None
    assert event.text == "The disk at /mnt is not there any more; it was over its limit."
    assert state == {}
    assert disk.judge({"/mnt": full}, state, 60.0)[0] is not None


async def test_this_machine_can_be_measured() -> None:
    for each in level_sensors(EventsSettings()):
        reading = await each.read(None)
        assert all(measure.percent >= 0 for measure in reading.values())
        assert each.seen(reading)


@pytest.mark.parametrize("percent", [89.9, 90.0, 90.1])
def test_the_limit_itself_counts(percent: float) -> None:
    words = run([(percent, 0.0)], LevelLimits(over=90, under=80, for_seconds=0))
    assert words == ([] if percent < 90 else ["rose"])
