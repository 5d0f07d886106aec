"""The five fields of a cron expression, and on which days they fall.

The grammar is what croniter and cronsim both accept; where croniter reads something in a way of its
own (`1-1` as everything), this is what cron does.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator
from datetime import date, timedelta
from functools import lru_cache

import msgspec

from nanobot.errors import UsageError

YEARS = 50
"""An expression that does not come true in so many years never does."""

_ALIASES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_LAST = 32
_NUMBER = re.compile(r"[0-9]{1,4}", re.ASCII)
_LONGEST = 400


class _Field(msgspec.Struct, frozen=True):
    name: str
    least: int
    most: int
    names: tuple[str, ...] = ()
    first: int = 0


_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of the month", 1, 31),
    _Field("month", 1, 12, _MONTHS, 1),
    _Field("day of the week", 0, 7, _DAYS),
)


class Fields(msgspec.Struct, frozen=True):
    """An expression taken apart. `nth` are (day of the week, which one in the month). `elapsed`:
    minutes or hours begin with a star, so it goes by elapsed time where clocks change. `both`: the
    two days must both fit, not either (one of them begins with a star)."""

    text: str
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    nth: frozenset[tuple[int, int]]
    elapsed: bool
    both: bool

    def on(self, day: date) -> bool:
        """Whether it falls on a day."""
        if day.month not in self.months:
            return False
        last = _LAST in self.days and day.day == _length(day)
        by_date = day.day in self.days or last
        weekday = day.isoweekday() % 7
        by_week = weekday in self.weekdays or (weekday, (day.day + 6) // 7) in self.nth
        return (by_date and by_week) if self.both else (by_date or by_week)

    def dates(self, begin: date) -> Iterator[date]:
        """The days it falls on, from one on, for YEARS."""
        day, end = begin, min(begin.year + YEARS, date.max.year - 1)
        while day.year <= end:
            if day.month not in self.months:
                day = day.replace(day=1) + timedelta(days=_length(day))
                continue
            if self.on(day):
                yield day
            day += timedelta(days=1)


@lru_cache(maxsize=1_024)
def fields_of(text: str) -> Fields:
    """The fields of an expression. Raises UsageError that names the field and what would fit."""
    given = " ".join(text.split())
    words = _ALIASES.get(given.lower(), given).upper().split()
    if len(words) != len(_FIELDS) or len(given) > _LONGEST:
        raise UsageError(
            f"{given[:60]!r} is no cron expression: it has five fields (minute, hour, day of the "
            "month, month, day of the week), as in `30 9 * * 1-5`, or is one of "
            f"{', '.join(sorted(_ALIASES))}."
        )
    for at, (field, word) in enumerate(zip(_FIELDS, words, strict=True)):
        why = _wrong(field, word)
        if why:
            better = _clamped(field, word)
            hint = ""
            if better:
                mended = [*words[:at], better, *words[at + 1 :]]
                hint = f" The nearest valid one is `{' '.join(mended)}`."
            raise UsageError(f"`{given}`: the {field.name} {word[:40]!r} {why}.{hint}")
    minutes, hours, days, months, weekdays = (
        _values(field, word) for field, word in zip(_FIELDS, words, strict=True)
    )
    found = Fields(
        text=" ".join(words),
        minutes=tuple(sorted(minutes)),
        hours=tuple(sorted(hours)),
        days=frozenset(days),
        months=frozenset(months),
        weekdays=frozenset(day % 7 for day in weekdays),
        nth=frozenset(_nth(words[4])),
        elapsed=words[0].startswith("*") or words[1].startswith("*"),
        both=words[2].startswith("*") or words[4].startswith("*"),
    )
    _agreed(given, words)
    _comes_true(found, words)
    return found


def _agreed(given: str, words: list[str]) -> None:
    """Whatever else croniter does not take is not taken."""
    from croniter import (  # type: ignore[import-untyped]  # noqa: PLC0415 - loads more than most need
        CroniterError,
        croniter,
    )

    try:
        croniter.expand(" ".join(words))
    except CroniterError as error:
        why = str(error).splitlines()[-1]
        raise UsageError(f"`{given}` is no cron expression: {why}") from None


def _comes_true(found: Fields, words: list[str]) -> None:
    if next(found.dates(date(2000, 1, 1)), None) is not None:
        return
    if any(day <= _longest(month) for day in found.days - {_LAST} for month in found.months):
        raise UsageError(
            f"`{found.text}` never comes: those days of the month are never those days of the "
            f"week. The nearest valid one is `{' '.join([*words[:2], '*', *words[3:]])}`."
        )
    longest = max(_longest(month) for month in found.months)
    near = [f"`{' '.join([*words[:2], day, *words[3:]])}`" for day in (str(longest), "L")]
    raise UsageError(
        f"`{found.text}` never comes: those months have no such day. "
        f"The nearest valid ones are {near[0]} and {near[1]} (the last day of the month)."
    )


def _longest(month: int) -> int:
    return _length(date(2000, month, 1))


def _length(day: date) -> int:
    return calendar.monthrange(day.year, day.month)[1]


def _wrong(field: _Field, word: str) -> str:
    """Why a field cannot be read; empty if it can."""
    for term in word.split(","):
        base, slash, step = term.partition("/")
        if slash and (not _NUMBER.fullmatch(step) or int(step) == 0):
            return "has a step that is no number above 0"
        if _special(field, term):
            continue
        if base == "*":
            continue
        ends = [_number(field, end) for end in base.split("-", 1)]
        if None in ends:
            return f"is not among {field.least} to {field.most}{_called(field)}"
        low, high = ends[0], ends[-1]
        if low is not None and high is not None and high < low:
            return "is a range that goes backwards; write it as two, with a comma"
    return ""


def _called(field: _Field) -> str:
    return f" or {field.names[0]} to {field.names[-1]}" if field.names else ""


def _special(field: _Field, term: str) -> bool:
    """`L`, the last day of the month; `FRI#2`, the second Friday."""
    if field is _FIELDS[2]:
        return term == "L"
    day, hash_, which = term.partition("#")
    return (
        bool(hash_)
        and field is _FIELDS[4]
        and _number(field, day) is not None
        and (which in {"1", "2", "3", "4", "5"})
    )


def _number(field: _Field, word: str) -> int | None:
    if word in field.names:
        return field.names.index(word) + field.first
    if not _NUMBER.fullmatch(word) or not field.least <= int(word) <= field.most:
        return None
    return int(word)


def _values(field: _Field, word: str) -> set[int]:
    found: set[int] = set()
    for term in word.split(","):
        base, slash, step = term.partition("/")
        if base == "L":
            found.add(_LAST)
        elif "#" not in base:
            low, _, high = base.partition("-")
            first = field.least if base == "*" else _number(field, low)
            last = _number(field, high) if high else first
            if base == "*" or (slash and not high):
                last = field.most
            found.update(range(first or 0, (last or 0) + 1, int(step or 1)))
    return found


def _nth(word: str) -> Iterator[tuple[int, int]]:
    for term in word.split(","):
        day, hash_, which = term.partition("#")
        if hash_:
            yield (_number(_FIELDS[4], day) or 0) % 7, int(which)


def _clamped(field: _Field, word: str) -> str:
    """The field with its numbers moved to the nearest that fit; empty if that does not help."""

    def nearest(found: re.Match[str]) -> str:
        number = int(found[0][:9])
        return str(min(max(number, field.least), field.most))

    better = re.sub(r"(?<![/#])\b[0-9]+", nearest, word)
    better = re.sub(r"/0+\b", "/1", better)
    parts = [
        "-".join(sorted(ends, key=lambda end: _number(field, end) or 0))
        if len(ends := term.split("-")) == 2 and "/" not in term
        else term
        for term in better.split(",")
    ]
    for tried in (",".join(parts), better):
        if not _wrong(field, tried):
            return tried
    return ""
