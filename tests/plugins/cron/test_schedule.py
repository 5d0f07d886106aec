"""When things are due: held against cronsim, in zones whose clocks change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from time import perf_counter
from zoneinfo import ZoneInfo

import pytest
from croniter import croniter  # type: ignore[import-untyped]
from cronsim import CronSim
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nanobot.errors import UsageError
from nanobot.plugins.cron.schedule import (
    Cron,
    Every,
    Once,
    Schedule,
    coming,
    parse,
    restored,
    split,
)
from tests.sampling import examples

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC).timestamp()
# Both halves of the year, changes at midnight, at 24:00, by politics, and none at all. Those that
# move by half an hour or by two have examples of their own: cronsim steps by hours.
ZONES = (
    "Europe/Berlin",
    "Europe/London",
    "America/New_York",
    "America/St_Johns",
    "America/Havana",
    "America/Santiago",
    "Australia/Sydney",
    "Pacific/Auckland",
    "Asia/Beirut",
    "Africa/Casablanca",
    "Atlantic/Azores",
    "Asia/Kathmandu",
    "UTC",
)


def numbers(least: int, most: int) -> st.SearchStrategy[str]:
    number = st.integers(least, most)
    pair = st.tuples(number, number).map(sorted)
    step = st.integers(1, most)
    term = st.one_of(
        number.map(str),
        number.map(str),
        pair.map(lambda p: f"{p[0]}-{p[1]}"),
        # cronsim reads `3-3/2` as `3/2`.
        st.tuples(pair, step)
        .filter(lambda p: p[0][0] < p[0][1])
        .map(lambda p: f"{p[0][0]}-{p[0][1]}/{p[1]}"),
        st.tuples(number, step).map(lambda p: f"{p[0]}/{p[1]}"),
    )
    star = st.one_of(st.just("*"), step.map(lambda s: f"*/{s}"))
    listed = st.lists(term, min_size=1, max_size=3).map(",".join)
    return st.one_of(star, listed, listed)


DAYS = st.one_of(st.just("*"), numbers(1, 28), st.just("L"), st.just("*/5"))
MONTHS = st.one_of(st.just("*"), numbers(1, 12), st.just("MAR,oct"), st.just("3,4,9-11"))
NTH = st.tuples(st.integers(0, 7), st.integers(1, 5)).map(lambda p: f"{p[0]}#{p[1]}")
WEEKDAYS = st.one_of(st.just("*"), numbers(0, 7), st.just("sun"), st.just("mon-fri"), NTH)
EXPRESSIONS = st.tuples(numbers(0, 59), numbers(0, 23), DAYS, MONTHS, WEEKDAYS).map(" ".join)


def times(text: str, zone: str, begin: datetime, count: int) -> list[float]:
    return coming(parse(text, zone, 0.0), begin.timestamp(), count)


def oracle(text: str, zone: str, begin: datetime, count: int) -> list[float]:
    simulated = CronSim(text, begin.astimezone(ZoneInfo(zone)))
    return [moment.timestamp() for moment in islice(simulated, count)]


def same(text: str, zone: str, begin: datetime, count: int) -> None:
    """We and cronsim agree, but for a first minute of days that begin with a gap: cronsim gives it
    to expressions with stars without a look at its hour."""
    ours, theirs = times(text, zone, begin, count), oracle(text, zone, begin, count)
    until = min(ours[-1], theirs[-1])
    for at in set(ours) ^ set(theirs):
        assert at > until or imaginary_midnight(at, zone)


def imaginary_midnight(time: float, zone: str) -> bool:
    local = datetime.fromtimestamp(time, ZoneInfo(zone))
    before = datetime.fromtimestamp(time - 60, ZoneInfo(zone))
    return local.date() != before.date() and local.hour > 0


def possible(text: str) -> bool:
    """Whether there is any such day."""
    try:
        parse(text, "UTC", 0.0)
    except UsageError:
        assert oracle(text, "UTC", datetime(2000, 1, 1, tzinfo=UTC), 1) == []
        return False
    return True


@settings(max_examples=examples(120))
@given(EXPRESSIONS, st.sampled_from(ZONES), st.integers(2_024 * 12, 2_034 * 12), st.integers(1, 25))
def test_any_expression_comes_when_cronsim_says(text: str, zone: str, month: int, day: int) -> None:
    assume(possible(text))
    begin = datetime(month // 12, month % 12 + 1, day, 12, tzinfo=UTC)
    same(text, zone, begin, 60)


@pytest.mark.process
@settings(max_examples=25)
@given(EXPRESSIONS, st.sampled_from(ZONES), st.sampled_from(["mar", "apr", "sep", "oct", "nov"]))
def test_the_months_in_which_clocks_change_are_as_in_cronsim(
    text: str, zone: str, month: str
) -> None:
    minute, hour, *_ = text.split()
    text = f"{minute} {hour} * {month} *"
    begin = datetime(2025, 1, 10, 12, tzinfo=UTC)
    same(text, zone, begin, examples(1_500))


@pytest.mark.process
@pytest.mark.parametrize(
    "zone", [ZONES[0], *(pytest.param(zone, marks=pytest.mark.slow) for zone in ZONES[1:])]
)
@pytest.mark.parametrize("text", ["30 2 * * *", "*/30 * * * *", "15 */2 * * *", "0 0,1,3 * * *"])
def test_ten_years_are_as_in_cronsim(text: str, zone: str) -> None:
    """The other zones are among the proofs of `make prove`."""
    begin = datetime(2025, 1, 1, 12, tzinfo=UTC)
    count = 6_000 if text.startswith("*") else 3_653
    same(text, zone, begin, count)


@settings(max_examples=40)
@given(EXPRESSIONS, st.sampled_from([*ZONES, "Australia/Lord_Howe", "Antarctica/Troll"]))
def test_time_goes_forward_and_no_start_in_between_changes_what_comes(text: str, zone: str) -> None:
    assume(possible(text))
    schedule = parse(text, zone, 0.0)
    begin = datetime(2026, 3, 20, 12, tzinfo=UTC).timestamp()
    ahead = coming(schedule, begin, 40)
    assert ahead == sorted(set(ahead))
    for before, after in pairwise(ahead):
        assert schedule.next((before + after) / 2) == schedule.next(after - 0.5) == after


def local(text: str, zone: str, begin: str, count: int) -> list[str]:
    start = datetime.fromisoformat(begin).replace(tzinfo=ZoneInfo(zone))
    moments = times(text, zone, start, count)
    return [
        datetime.fromtimestamp(moment, ZoneInfo(zone)).strftime("%d %H:%M %z") for moment in moments
    ]


def test_a_fixed_time_in_the_gap_comes_right_after_it_and_once() -> None:
    assert local("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00", 2) == [
        "29 03:00 +0200",
        "30 02:30 +0200",
    ]
    assert local("15,45 2,3 29 * *", "Europe/Berlin", "2026-03-28T12:00", 3) == [
        "29 03:00 +0200",
        "29 03:15 +0200",
        "29 03:45 +0200",
    ]


def test_a_fixed_time_that_comes_twice_counts_the_first_time() -> None:
    assert local("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00", 2) == [
        "25 02:30 +0200",
        "26 02:30 +0100",
    ]


def test_stars_go_by_elapsed_time() -> None:
    moments = times("*/30 * * * *", "Europe/Berlin", datetime(2026, 10, 24, 22, tzinfo=UTC), 12)
    assert {later - before for before, later in pairwise(moments)} == {1_800.0}


def test_zones_that_move_by_half_an_hour_or_by_two_lose_nothing() -> None:
    assert local("*/20 1,2 * * *", "Australia/Lord_Howe", "2026-04-05T00:30", 8) == [
        *("05 01:00 +1100", "05 01:20 +1100", "05 01:40 +1100"),
        *("05 01:40 +1030", "05 02:00 +1030", "05 02:20 +1030", "05 02:40 +1030"),
        "06 01:00 +1030",
    ]
    assert local("0 */1 25 * *", "Antarctica/Troll", "2026-10-25T00:30", 5) == [
        *("25 01:00 +0200", "25 02:00 +0200", "25 01:00 +0000", "25 02:00 +0000"),
        "25 03:00 +0000",
    ]


def test_a_day_that_a_zone_left_out_is_made_up_for_at_its_end() -> None:
    assert local("0 9 30 12 *", "Pacific/Apia", "2011-12-29T12:00", 1) == ["31 00:00 +1400"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("61 * * * *", "`59 * * * *`"),
        ("0 24 * * *", "`0 23 * * *`"),
        ("0 0 0 * *", "`0 0 1 * *`"),
        ("0 0 * 13 *", "`0 0 * 12 *`"),
        ("*/0 * * * *", "`*/1 * * * *`"),
        ("0 17-9 * * *", "ranges do not wrap. Over the end it is `0 17-23,0-9 * * *`"),
        ("0 22-2 * * *", "`0 22-23,0-2 * * *`"),
        ("0 23-1 * * *", "`0 23,0-1 * * *`"),
        ("0 22-2/2 * * *", "`0 22,0,2 * * *`"),
        ("0 0 * * fri-mon", "`0 0 * * FRI-SAT,SUN-MON`"),
        ("0 0 * nov-feb *", "`0 0 * NOV-DEC,JAN-FEB *`"),
        ("0 0 15W * *", "`W` is not"),
        ("0 0 * * 5W", "`FRI#2` (the second Friday) or `5L` (the last Friday)"),
        ("0 0 ? * *", "`0 0 * * *`"),
        ("0 0 1,,2 * *", "empty place"),
        ("0 0 9 * * 1-5", "seconds are not taken: the first field is the minute, as in `0 9 * *"),
        ("0 0 * * 5L,2", "and days without"),
        ("0 0 * * mon,fri#2", "has days with `#` or `L` and days without"),
        ("0 0 30 2 *", "`0 0 29 2 *`"),
        ("0 0 31 4,6 *", "`0 0 30 4,6 *`"),
        ("0 0 */20 * 1#5", "`0 0 * * 1#5`"),
        ("0 0 * * 1#6", "day of the week"),
        ("0 0 * * 1,2#1", "has days with `#` or `L` and days without"),
        ("0 0 LW * *", "day of the month"),
        ("0 0 * * someday", "day of the week"),
        ("0 0 * *", "not a schedule"),
        ("@often", "five fields"),
        ("R * * * *", "minute"),
        ("H H * * *", "minute"),
        ("", "not a schedule"),
        ("tomorrow", "not a schedule"),
        ("+-5m", "goes forward"),
        ("+0s", "goes forward"),
        ("+9999999d", "too long"),
        ("+20x", "`+20m`, `+2 hours`"),
        ("every -5 minutes", "goes forward"),
        ("every 5 seconds", "too often"),
        ("every 99999 days", "too long"),
        ("every 1e9 days", "2 hours"),
        ("every now and then", "2 hours"),
        ("2020-01-01", "passed already"),
        ("2026-02-30T10:00", "not a time"),
        ("9999-12-31T23:59", "100 years"),
        ("٣ * * * *", "minute"),
    ],
)
def test_what_cannot_be_is_refused_with_what_could(text: str, reason: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse(text, "UTC", NOW)
    assert reason in str(raised.value)


@pytest.mark.parametrize(
    ("zone", "near"),
    [
        ("Europe/Berln", "Europe/Berlin"),
        ("berlin", "Europe/Berlin"),
        ("../../etc/passwd", "write it as in"),
        ("", "write it as in"),
        ("\0", "write it as in"),
        ("CEST", "write it as in"),
    ],
)
def test_a_zone_that_is_none_is_refused_with_the_nearest(zone: str, near: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse("@daily", zone, NOW)
    assert near in str(raised.value)


@settings(max_examples=examples(300))
@given(st.text(alphabet="0123456789*/,-#LW? monfri@h.", max_size=24))
def test_what_is_accepted_both_others_accept(text: str) -> None:
    try:
        schedule = parse(text, "UTC", NOW)
    except UsageError:
        return
    if isinstance(schedule, Cron):
        assert croniter.is_valid(schedule.text)
        assert coming(schedule, NOW, 5) == oracle(
            schedule.text, "UTC", datetime.fromtimestamp(NOW, UTC), 5
        )


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("+20m", 1_200), ("+ 2 hours", 7_200), ("in 3 days", 259_200), ("+90S", 90), ("+1d", 86_400)],
)
def test_once_is_counted_from_now(text: str, seconds: int) -> None:
    assert parse(text, "UTC", NOW) == Once(NOW + seconds)


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2026-12-24T18:00", "2026-12-24T17:00:00Z"),
        ("2026-12-24 18:00", "2026-12-24T17:00:00Z"),
        ("2026-12-24T18:00:30Z", "2026-12-24T18:00:30Z"),
        ("2026-12-24T18:00-05:00", "2026-12-24T23:00:00Z"),
        ("2026-03-29T02:30", "2026-03-29T01:00:00Z"),
        ("2026-10-25T02:30", "2026-10-25T00:30:00Z"),
    ],
)
def test_a_time_is_in_the_zone_unless_it_names_another(text: str, utc: str) -> None:
    assert parse(text, "Europe/Berlin", NOW).text == utc


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("every 20 minutes", "every 20 minutes"),
        ("every 120m", "every 2 hours"),
        ("Every day", "every day"),
        ("every 90s", "every 90 seconds"),
        ("every 1 hour", "every hour"),
        ("@daily", "0 0 * * *"),
        ("0  9 * * mon-fri", "0 9 * * MON-FRI"),
        ("+20m", "2026-03-01T12:20:00Z"),
    ],
)
def test_a_schedule_is_restored_from_its_text(text: str, plain: str) -> None:
    schedule = parse(text, "America/New_York", NOW)
    assert schedule.text == plain
    assert restored(schedule.text, "America/New_York", NOW) == schedule


@given(st.integers(10, 1_000_000), st.floats(-1e9, 1e9))
def test_an_interval_keeps_its_grid_also_before_its_beginning(seconds: int, offset: float) -> None:
    schedule: Schedule = Every(float(seconds), NOW)
    following = schedule.next(NOW + offset)
    assert following is not None
    assert NOW + offset < following <= NOW + offset + seconds
    assert (following - NOW) % seconds == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize(
    ("text", "schedule", "rest"),
    [
        ("0 9 * * 1-5 Good morning, all", "0 9 * * 1-5", "Good morning, all"),
        ("+20m Tea", "+20m", "Tea"),
        ("in 20 minutes: tea", "in 20 minutes", "tea"),
        ("every 2 hours drink\nwater", "every 2 hours", "drink\nwater"),
        ("every day look", "every day", "look"),
        ("every 20m look", "every 20m", "look"),
        ("@daily look", "@daily", "look"),
        ("2026-12-24T18:00 Presents", "2026-12-24T18:00", "Presents"),
        ("2026-12-24 18:00 Presents", "2026-12-24 18:00", "Presents"),
        ("+20m", "+20m", ""),
        ("", "", ""),
    ],
)
def test_a_schedule_is_found_at_the_head_of_a_text(text: str, schedule: str, rest: str) -> None:
    assert split(text, "UTC", NOW) == (schedule, rest)


def test_leap_days_on_a_weekday_are_found_decades_ahead() -> None:
    moments = times("0 0 29 2 */7", "UTC", datetime(2026, 1, 1, tzinfo=UTC), 1)
    assert datetime.fromtimestamp(moments[0], UTC) - datetime(2026, 1, 1, tzinfo=UTC) > timedelta(
        days=365
    )


@pytest.mark.parametrize("begin", ["2026-03-29T00:59", "2026-10-25T00:30", "2026-10-25T01:30"])
def test_a_day_on_which_clocks_change_costs_no_more_than_others(begin: str) -> None:
    schedule = parse("* * * * *", "Europe/Berlin", NOW)
    after = datetime.fromisoformat(begin).replace(tzinfo=UTC).timestamp()
    spans = []
    for _ in range(30):
        start = perf_counter()
        schedule.next(after)
        spans.append(perf_counter() - start)
    assert min(spans) < 0.001


def test_either_day_is_enough_also_where_one_of_them_is_the_nth_or_never_comes() -> None:
    begin = datetime(2026, 6, 1, 12, tzinfo=UTC)
    moments = times("0 0 10 * fri#2", "UTC", begin, 3)
    assert [datetime.fromtimestamp(moment, UTC).day for moment in moments] == [10, 12, 10]
    assert local("0 0 31 2 mon", "UTC", "2026-06-01T00:00", 2) == [
        "01 00:00 +0000",
        "08 00:00 +0000",
    ]
