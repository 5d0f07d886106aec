"""Every form of every field of a cron expression, held against cronsim; what is refused is refused
with a sentence."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice

import pytest
from cronsim import CronSim, CronSimError
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nanobot.errors import UsageError
from nanobot.plugins.cron.schedule import Cron, Schedule, coming, parse
from tests.sampling import examples

BEGIN = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
MACROS = ("@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually")


def cased(names: tuple[str, ...]) -> st.SearchStrategy[str]:
    """A name in any case."""
    how = st.sampled_from([str.lower, str.upper, str.title])
    return st.tuples(st.sampled_from(names), how).map(lambda pair: pair[1](pair[0]))


def field(least: int, most: int, names: tuple[str, ...] = ()) -> st.SearchStrategy[str]:
    """A field in any of its plain forms, ranges over the end and absurd steps among them."""
    numbers = st.integers(least, most).map(str)
    value = st.one_of(numbers, cased(names)) if names else numbers
    ranges = st.tuples(value, value).map("-".join)
    # cronsim reads `3-3/2` as `3/2`.
    apart = st.tuples(st.integers(least, most), st.integers(least, most)).filter(
        lambda pair: pair[0] != pair[1]
    )
    stepped = st.one_of(st.just("*"), value, apart.map(lambda pair: f"{pair[0]}-{pair[1]}"))
    steps = st.tuples(stepped, st.integers(0, 70).map(str))
    term = st.one_of(value, value, ranges, steps.map("/".join), st.just("*"))
    return st.lists(term, min_size=1, max_size=3).map(",".join)


LAST_OR_NEAR = st.sampled_from(["L", "l", "1,L", "L,15", "15W", "LW", "?", "W", "L-3", "31L"])
NTH = st.tuples(st.one_of(st.integers(0, 8).map(str), cased(DAYS)), st.integers(0, 6)).map(
    lambda pair: f"{pair[0]}#{pair[1]}"
)
LAST_WEEKDAY = st.one_of(st.integers(0, 8).map(str), cased(DAYS)).map("{}L".format)
FIELDS = (
    field(0, 59),
    field(0, 23),
    st.one_of(field(1, 31), st.just("*"), LAST_OR_NEAR),
    st.one_of(field(1, 12, MONTHS), st.just("*")),
    st.one_of(
        field(0, 7, DAYS), st.just("*"), NTH, LAST_WEEKDAY, st.sampled_from(["?", "L", "5W"])
    ),
)
EXPRESSIONS = st.one_of(
    st.tuples(*FIELDS).map(" ".join),
    st.tuples(*FIELDS).map(" ".join),
    st.tuples(field(0, 59), *FIELDS).map(" ".join),
    st.sampled_from(MACROS),
)


def expected(text: str) -> list[float] | None:
    """The first times that cronsim finds; None where it cannot read the text."""
    try:
        return [time.timestamp() for time in islice(CronSim(text, BEGIN), 4)]
    except CronSimError:
        return None


def read(text: str) -> Schedule | str:
    """The schedule, or the sentence that refuses it."""
    try:
        return parse(text, "UTC", BEGIN.timestamp())
    except UsageError as error:
        return str(error)


@pytest.mark.process
@settings(max_examples=examples(400))
@given(EXPRESSIONS)
@example("0 0 1 JUL *")
@example("0 0 L jul MONL")
@example("0 0 1 jul-dec *")
@example("0 0 31 APR *")
def test_every_form_of_every_field_is_taken_as_cronsim_takes_it_or_refused_in_a_sentence(
    text: str,
) -> None:
    schedule = read(text)
    if isinstance(schedule, str):
        assert schedule.endswith((".", ")"))
        assert len(schedule) < 500
        return
    assert isinstance(schedule, Cron)
    theirs = expected(schedule.text)
    if theirs is not None:
        assert coming(schedule, BEGIN.timestamp(), 4) == theirs


@settings(max_examples=examples(100))
@given(cased(MONTHS), cased(DAYS))
def test_every_name_is_taken(month: str, day: str) -> None:
    for text in (f"0 0 1 {month} *", f"0 0 * {month} {day}", f"0 0 * * {day}#1"):
        schedule = parse(text, "UTC", BEGIN.timestamp())
        assert coming(schedule, BEGIN.timestamp(), 4) == expected(text)


@pytest.mark.parametrize("day", [*(str(number) for number in range(8)), *DAYS])
def test_the_last_of_a_weekday_is_taken(day: str) -> None:
    schedule = parse(f"0 9 * * {day}L", "UTC", BEGIN.timestamp())
    number = DAYS.index(day) if day in DAYS else int(day) % 7
    assert coming(schedule, BEGIN.timestamp(), 6) == [
        time.timestamp() for time in islice(CronSim(f"0 9 * * {number}L", BEGIN), 6)
    ]


@pytest.mark.parametrize("text", MACROS)
def test_every_short_form_is_taken(text: str) -> None:
    assert len(coming(parse(text, "UTC", 0.0), 0.0, 3)) == 3
