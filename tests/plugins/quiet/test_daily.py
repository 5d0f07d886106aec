"""Hours of a day by the clocks of a zone, on the nights when these change, too."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.errors import ConfigError
from nanobot.plugins.common.times.daily_hours import zone_given
from nanobot.plugins.quiet.daily import Hours, hours_of

ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "America/St_Johns",
    "Asia/Kathmandu",
    "Pacific/Apia",
    "Africa/Casablanca",
    "America/Havana",
)


def at(text: str, zone: str = "Europe/Berlin", fold: int = 0) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold).timestamp()


def hours(begin: str, end: str, zone: str = "Europe/Berlin") -> Hours:
    waking = hours_of(begin, end, zone, "heartbeat")
    assert waking is not None
    return waking


@pytest.mark.parametrize(
    ("begin", "end", "time", "until"),
    [
        ("22:00", "08:00", "2026-03-10T21:59:59", None),
        ("22:00", "08:00", "2026-03-10T22:00", "2026-03-11T08:00"),
        ("22:00", "08:00", "2026-03-11T00:00", "2026-03-11T08:00"),
        ("22:00", "08:00", "2026-03-11T07:59:59", "2026-03-11T08:00"),
        ("22:00", "08:00", "2026-03-11T08:00", None),
        ("13:00", "14:30", "2026-03-10T12:59", None),
        ("13:00", "14:30", "2026-03-10T13:00", "2026-03-10T14:30"),
        ("13:00", "14:30", "2026-03-10T14:30", None),
        ("00:00", "6:00", "2026-03-10T00:00", "2026-03-10T06:00"),
        ("23:59", "00:00", "2026-03-10T23:59:30", "2026-03-11T00:00"),
    ],
)
def test_hours_begin_and_end_by_the_clock(
    begin: str, end: str, time: str, until: str | None
) -> None:
    assert hours(begin, end).until(at(time)) == (None if until is None else at(until))


def test_in_spring_a_night_is_an_hour_shorter_and_in_autumn_longer() -> None:
    night = hours("22:00", "08:00")
    assert (night.until(at("2026-03-28T22:00")) or 0) - at("2026-03-28T22:00") == 9 * 3_600
    assert (night.until(at("2026-10-24T22:00")) or 0) - at("2026-10-24T22:00") == 11 * 3_600


def test_what_clocks_jump_over_is_the_end_of_the_gap() -> None:
    gap_ends = at("2026-03-29T03:00")
    assert hours("22:00", "02:30").until(gap_ends - 1) == gap_ends
    assert hours("22:00", "02:30").until(gap_ends) is None
    assert hours("02:30", "04:00").until(gap_ends) == at("2026-03-29T04:00")
    assert hours("02:10", "02:50").until(gap_ends) is None


def test_what_comes_twice_ends_with_the_second_and_begins_with_the_first() -> None:
    first, second = at("2026-10-25T02:30"), at("2026-10-25T02:30", fold=1)
    assert second - first == 3_600
    assert hours("22:00", "02:30").until(first + 60) == second
    assert hours("02:30", "06:00").until(first) == at("2026-10-25T06:00")
    assert hours("02:30", "06:00").until(second - 60) == at("2026-10-25T06:00")


def test_a_day_that_a_zone_left_out_has_no_hours() -> None:
    night = hours("22:00", "08:00", "Pacific/Apia")
    before = at("2011-12-29T23:00", "Pacific/Apia")
    assert night.until(before) == at("2011-12-31T00:00", "Pacific/Apia")


@given(
    st.sampled_from(ZONES),
    st.integers(0, 1_439),
    st.integers(0, 1_439),
    st.integers(1_700_000_000, 1_860_000_000),
)
def test_whenever_the_clock_shows_a_time_within_them_they_hold(
    zone: str, begin: int, end: int, now: int
) -> None:
    if begin == end:
        return
    until = Hours(begin, end, zone).until(now)
    shown = datetime.fromtimestamp(now, ZoneInfo(zone))
    minutes = shown.hour * 60 + shown.minute
    within = begin <= minutes < end if begin < end else minutes >= begin or minutes < end
    if within:
        assert until is not None
    if until is not None:
        assert 0 < until - now <= 27 * 3_600
    else:
        assert not within


@pytest.mark.parametrize(
    ("begin", "end", "reason"),
    [
        ("25:00", "08:00", "heartbeat.quiet_from is '25:00'"),
        ("22:00", "8", "heartbeat.quiet_until is '8'"),
        ("22:60", "08:00", "not a time of day"),
        ("\u0662\u0662:00", "08:00", "not a time of day"),
        ("", "08:00", "heartbeat.quiet_from is empty"),
        ("22:00", "", "heartbeat.quiet_until is empty"),
        ("22:00", "22:00", "are both '22:00'"),
        ("x" * 10_000, "08:00", "not a time of day"),
    ],
)
def test_impossible_times_are_named_with_what_is_right(begin: str, end: str, reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        hours_of(begin, end, "UTC", "heartbeat")
    assert reason in str(caught.value)
    assert len(str(caught.value)) < 300


def test_a_zone_is_named_with_the_nearest_and_only_one_that_was_written_is_wrong() -> None:
    with pytest.raises(ConfigError, match=r"heartbeat\.zone: .*did you mean Europe/Berlin"):
        zone_given("Europe/Berln", "UTC", "heartbeat")
    assert zone_given("europe/berlin", "UTC", "heartbeat") == "Europe/Berlin"
    assert zone_given("", "CET-1CEST,M3.5.0", "heartbeat") == "UTC"
    assert hours_of("", "", "UTC", "heartbeat") is None
