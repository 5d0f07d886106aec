"""The meaning of schedules in plain words: the parts shared by English and Chinese.

Phrases are parsed by rules, never by similarity: a phrase that no rule matches is rejected. So an
unknown word cannot move a job to another day.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from typing import TypeAlias

import msgspec

DAY_PARTS = {"morning": 8, "noon": 12, "afternoon": 15, "evening": 19, "night": 21, "midnight": 0}
"""The hour of a part of the day that has no explicit time."""
USUAL_HOUR = 9
"""The hour of recurring days that have no explicit time."""
_HOURS_OF = {"afternoon": (1, 7), "evening": (5, 11), "night": (6, 11), "noon": (1, 2)}
"""The parts of the day in which hours between the first and the last number mean after noon."""
_DAY = timedelta(days=1)


class Repeats(msgspec.Struct, frozen=True):
    """Repeats by a cron expression."""

    expression: str


class Interval(msgspec.Struct, frozen=True):
    """Repeats every N seconds, from now."""

    seconds: float


class Later(msgspec.Struct, frozen=True):
    """Once, N seconds from now."""

    seconds: float


class Moment(msgspec.Struct, frozen=True):
    """Once, at this local time (naive)."""

    shown: datetime


class Incomplete(msgspec.Struct, frozen=True):
    """The beginning of a schedule; `why` says what is missing or impossible, phrased as the end of
    a sentence.
    """

    why: str


Meaning: TypeAlias = Repeats | Interval | Later | Moment | Incomplete


class Phrase(msgspec.Struct, frozen=True):
    """The meaning of the first `length` characters of a text."""

    meaning: Meaning
    length: int


def reach(phrase: Phrase) -> tuple[int, bool]:
    """The sort key by which the phrase that explains most of a text is the greatest."""
    return phrase.length, not isinstance(phrase.meaning, Incomplete)


class Days(msgspec.Struct, frozen=True, kw_only=True):
    """The days that a phrase names: fields of a cron expression, or one day (`once`). `part`: the
    part of the day. `problem`: why the days are impossible.
    """

    month_day: str = "*"
    month: str = "*"
    weekday: str = "*"
    once: date | None = None
    part: str = ""
    problem: str = ""


class TimeOfDay(msgspec.Struct, frozen=True, order=True):
    """A time as written; `exact`: a part of the day does not change it. Hour 24 is midnight."""

    hour: int
    minute: int = 0
    exact: bool = False


class Scanner:
    """Takes words or groups of words from the beginning of a text, one after another.

    `before` and `after` are patterns around each: what may be skipped before it, and what must
    follow it.
    """

    def __init__(self, text: str, before: str, after: str = "") -> None:
        self._text = text
        self._around = before, after
        self.at = 0

    def take(self, words: str) -> re.Match[str] | None:
        """Take these words (a regular expression) if they are next."""
        match = _compiled(words, *self._around).match(self._text, self.at)
        if match is not None:
            self.at = match.end()
        return match


@lru_cache(maxsize=256)
def _compiled(words: str, before: str, after: str) -> re.Pattern[str]:
    return re.compile(f"{before}(?:{words}){after}", re.IGNORECASE)


NO_TIME = "says no time of day"
TWO_JOBS = "has times that one schedule cannot hold: write two jobs"
WHICH_MIDNIGHT = "may mean midnight before or after that day: write 0:00 or 23:59"
NO_WORKDAY_OF_MONTH = (
    "counts the working days of a month, which is not possible: name a day, as in "
    "`first monday of the month at 9:00`"
)


def combined(days: Days, times: Sequence[TimeOfDay]) -> Meaning:
    """The meaning of days and times of day combined."""
    if days.problem:
        return Incomplete(days.problem)
    usual = TimeOfDay(DAY_PARTS.get(days.part, USUAL_HOUR))
    clocks = [in_part(time, days.part) for time in times] or [usual]
    if any(clock is None for clock in clocks):
        return Incomplete(f"has a time that is not in the {days.part}")
    exact = sorted({clock for clock in clocks if clock is not None})
    if days.once is not None:
        return _at(days.once, exact) if times or days.part else Incomplete(NO_TIME)
    return _repeated(days, exact)


def _repeated(days: Days, exact: list[TimeOfDay]) -> Meaning:
    every_day = days.month_day == days.month == days.weekday == "*"
    if any(clock.hour == 24 for clock in exact):
        if not every_day:
            return Incomplete(WHICH_MIDNIGHT)
        exact = sorted({msgspec.structs.replace(clock, hour=clock.hour % 24) for clock in exact})
    if len({clock.minute for clock in exact}) > 1:
        return Incomplete(TWO_JOBS)
    hours = ",".join(str(hour) for hour in sorted({clock.hour for clock in exact}))
    return Repeats(f"{exact[0].minute} {hours} {days.month_day} {days.month} {days.weekday}")


def _at(day: date, clocks: list[TimeOfDay]) -> Meaning:
    if len(clocks) > 1:
        return Incomplete(TWO_JOBS)
    clock = clocks[0]
    if clock.hour == 24:
        return Incomplete(WHICH_MIDNIGHT)
    return Moment(datetime.combine(day, time(clock.hour, clock.minute)))


def in_part(clock: TimeOfDay, part: str) -> TimeOfDay | None:
    """A time within a part of the day, such as `8` in the evening; None if it is outside."""
    hour = clock.hour
    if not part or clock.exact or hour > 12:
        outside = part == "morning" and 12 < hour < 24 and not clock.exact
        return None if outside else clock
    if hour == 12:
        hours = {"morning": None, "evening": 24, "night": 24, "midnight": 24, "early": 0}
        hour_of = hours.get(part, 12)
        return None if hour_of is None else msgspec.structs.replace(clock, hour=hour_of)
    if part not in _HOURS_OF:
        return clock
    first, last = _HOURS_OF[part]
    if first <= hour <= last:
        return msgspec.structs.replace(clock, hour=hour + 12)
    return clock if part == "noon" and hour == 11 else None


def next_time(times: Sequence[TimeOfDay], now: datetime) -> Meaning:
    """A time of day without a day: today, or tomorrow if it has passed."""
    if len(times) > 1:
        return Incomplete(TWO_JOBS)
    clock = times[0]
    today = datetime.combine(now.date(), time(clock.hour % 24, clock.minute))
    return Moment(today if today > now else today + _DAY)


def coming_weekday(number: int, now: datetime, *, after_today: bool) -> date:
    """The next such weekday (0 is Sunday)."""
    ahead = (number - now.isoweekday()) % 7
    return now.date() + _DAY * (ahead or (7 if after_today else 0))


def weekday_of_week(number: int, weeks: int, now: datetime) -> date:
    """That weekday (0 is Sunday, the last day) of the week this many weeks ahead."""
    monday = now.date() - _DAY * (now.isoweekday() - 1)
    return monday + timedelta(weeks=weeks, days=(number - 1) % 7)


def dated(year: int | None, month: int, day: int, now: datetime) -> Days:
    """A date; without a year, the next one from today on."""
    years = [year] if year else range(now.year, now.year + 9)
    for each in years:
        try:
            found = date(each, month, day)
        except ValueError:
            continue
        if year or found >= now.date():
            return Days(once=found)
    return Days(problem="has a day that its month does not have")


def day_of_month(day: int, now: datetime, months: int | None = None) -> Days:
    """That day of this month or the next one that has it; or of the month so many months ahead."""
    for ahead in range(13) if months is None else (months,):
        years, month = divmod(now.month - 1 + ahead, 12)
        try:
            found = date(now.year + years, month + 1, day)
        except ValueError:
            continue
        if months is not None or found >= now.date():
            return Days(once=found)
    return Days(problem="has a day that its month does not have")


def between(every: int, unit: str, first: TimeOfDay, last: TimeOfDay, days: Days) -> Meaning:
    """Every N minutes or hours, from one time of day to another."""
    if days.problem or days.once or first.minute or last.minute or not first.hour < last.hour <= 24:
        return Incomplete("needs full hours of one day, as in `between 9:00 and 17:00`")
    rest = f"{days.month_day} {days.month} {days.weekday}"
    if unit == "hour":
        end = min(last.hour, 23)
        return Repeats(f"0 {first.hour}-{end}{'' if every == 1 else f'/{every}'} {rest}")
    if 60 % every:
        return Incomplete("needs minutes that divide an hour, as in `every 15 minutes`")
    minutes = "0" if every == 60 else "*" if every == 1 else f"*/{every}"
    return Repeats(f"{minutes} {first.hour}-{last.hour - 1} {rest}")
