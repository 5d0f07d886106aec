"""Cron expressions: which are accepted, and their times by clocks that never change.

croniter finds the times. It gets every field as plain numbers, because it reads some notations like
no other cron: `1-1` as everything, `MON#2` with a day of the month as both at once.
"""

from __future__ import annotations

import calendar
import copy
import re
from datetime import datetime
from functools import lru_cache
from typing import Any

import msgspec

from nanobot.errors import UsageError
from nanobot.text import pattern

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
_NUMBER = pattern(r"[0-9]{1,4}", re.ASCII)
_LONGEST = 400
_SHOWN = 60
_EXAMPLE = "30 9 * * 1-5"
_BEGIN = datetime.fromisoformat("1999-12-31T23:59")
_LETTERS = (
    "has signs that are not taken here: only `L` in the day of the month (its last day, also in a "
    "list), and `FRI#2` (the second Friday) or `5L` (the last Friday) in the day of the week; `W` "
    "is not, and for `?` write `*`"
)


class _Field(msgspec.Struct, frozen=True):
    name: str
    least: int
    most: int
    names: tuple[str, ...] = ()
    first: int = 0
    special: str = ""


_MINUTE = _Field("minute", 0, 59)
_HOUR = _Field("hour", 0, 23)
_DAY = _Field("day of the month", 1, 31, special="L")
_MONTH = _Field("month", 1, 12, _MONTHS, 1)
_WEEKDAY = _Field("day of the week", 0, 7, _DAYS, special="#")
_FIELDS = (_MINUTE, _HOUR, _DAY, _MONTH, _WEEKDAY)


class Expression(msgspec.Struct, frozen=True):
    """An expression in the form that `expression_of` returned."""

    text: str

    @property
    def elapsed(self) -> bool:
        """Whether the minutes or hours begin with a star, so that the schedule goes by elapsed time
        when clocks change.
        """
        return self.text.startswith("*") or self.text.partition(" ")[2].startswith("*")

    def following(self, shown: datetime) -> datetime | None:
        """The first time after another, both naive. None: there is none within 50 years. Raises
        ValueError for a text that `expression_of` would reject.
        """
        times = (_next(calculator, shown) for calculator in _calculators(self.text))
        return min((time for time in times if time is not None), default=None)


@lru_cache(maxsize=1_024)
def expression_of(text: str) -> Expression:
    """The expression in its plain form. Raises UsageError that names the field and suggests a valid
    one.
    """
    written = " ".join(text.split())
    words = _ALIASES.get(written.lower(), written).upper().split()
    if len(written) > _LONGEST:
        raise UsageError(
            f"{written[:_SHOWN]!r} is too long for a cron expression, which has at most {_LONGEST} "
            f"characters, as in `{_EXAMPLE}`."
        )
    if len(words) == len(_FIELDS) + 1:
        raise UsageError(
            f"`{written[:_SHOWN]}` has six fields, but seconds are not taken: the first field is "
            f"the minute, as in `{' '.join(words[1:])}`. For seconds write `every 30 seconds`."
        )
    if len(words) != len(_FIELDS):
        raise UsageError(
            f"{written[:60]!r} is not a cron expression: it has five fields (minute, hour, day "
            f"of the "
            f"month, month, day of the week), as in `{_EXAMPLE}`, or is one of "
            f"{', '.join(sorted(_ALIASES))}."
        )
    for at, (field, word) in enumerate(zip(_FIELDS, words, strict=True)):
        problem = _problem(field, word)
        if problem:
            shown = written if len(written) <= _SHOWN else f"{written[:_SHOWN]}..."
            hint = _remedy(words, at, _better(field, word))
            raise UsageError(f"`{shown}`: the {field.name} {word[:40]!r} {problem}. {hint}")
    expression = Expression(" ".join(words))
    if expression.following(_BEGIN) is None:
        raise UsageError(_never(words))
    return expression


class FieldNumbers(msgspec.Struct, frozen=True):
    """The content of a field: numbers; the `last` day of the month; for days of the week, (day,
    which one of the month), 0 for the last. `star`: it begins with a star.
    """

    numbers: set[int]
    last: bool = False
    nth: tuple[tuple[int, int], ...] = ()
    star: bool = False


def fields_of(text: str) -> list[FieldNumbers]:
    """The fields of an expression in its plain form. Raises ValueError for a text that
    `expression_of` would reject.
    """
    return [_held(field, word) for field, word in zip(_FIELDS, text.split(), strict=True)]


def _held(field: _Field, word: str) -> FieldNumbers:
    star = word.startswith("*")
    plain = _plain(field, word)
    if plain == "*":
        least, most = field.least, 6 if field is _WEEKDAY else field.most
        return FieldNumbers(set(range(least, most + 1)), star=star)
    terms = plain.split(",")
    if "#" in plain or (field is _WEEKDAY and "L" in plain):
        pairs = (term.lstrip("L").partition("#") for term in terms)
        return FieldNumbers(set(), nth=tuple((int(day), int(n or 0)) for day, _, n in pairs))
    numbers = {int(term) for term in terms if term != "L"}
    return FieldNumbers(numbers, last="L" in terms, star=star)


# Times


@lru_cache(maxsize=2_048)
def _calculators(text: str) -> tuple[Any, ...]:
    """The expression for croniter; two expressions if a match of either day field is enough."""
    words = text.split(" ")
    fields = [_plain(field, word) for field, word in zip(_FIELDS, words, strict=True)]
    if words[2].startswith("*") or words[4].startswith("*"):
        return (_calculator(fields),)
    # Otherwise every call would search fifty years for an expression that never matches.
    either = (_calculator(_with(fields, 4, "*")), _calculator(_with(fields, 2, "*")))
    return tuple(side for side in either if _next(side, _BEGIN) is not None)


def _calculator(fields: list[str]) -> Any:
    from croniter import (  # type: ignore[import-untyped]  # noqa: PLC0415 - loads more than most need
        croniter,
    )

    return croniter(" ".join(fields), _BEGIN, ret_type=datetime, day_or=False)


def _next(calculator: Any, shown: datetime) -> datetime | None:
    from croniter import CroniterBadDateError  # noqa: PLC0415 - see above

    try:
        # A calculator keeps its position, and the loop and the store's thread use one at the same
        # time.
        time: datetime = copy.copy(calculator).get_next(start_time=shown)
    except (CroniterBadDateError, OverflowError):
        return None
    return time


def _plain(field: _Field, word: str) -> str:
    """A field as numbers."""
    if word == "*":
        return word
    if field is _WEEKDAY and _special(field, word.split(",")[0]):
        return ",".join(_plain_nth(field, term) for term in word.split(","))
    numbers = _values(field, word)
    if field is _WEEKDAY:
        numbers = {number % 7 for number in numbers}
    last = ["L"] if field is _DAY and "L" in word.split(",") else []
    return ",".join([*map(str, sorted(numbers)), *last])


def _plain_nth(field: _Field, term: str) -> str:
    """`FRI#2` as `5#2`, and `FRIL` or `5L` (the last Friday) as `L5`."""
    day, hash_, which = term.partition("#")
    number = (_number(field, day if hash_ else term[:-1]) or 0) % 7
    return f"{number}#{which}" if hash_ else f"L{number}"


def _values(field: _Field, word: str) -> set[int]:
    """The numbers of a field, without an `L` among the weekdays. Raises ValueError for a field that
    `_problem` would reject.
    """
    values: set[int] = set()
    for term in word.split(","):
        if field is _DAY and term == "L":
            continue
        base, slash, step = term.partition("/")
        low, dash, high = base.partition("-")
        first = field.least if base == "*" else _number(field, low)
        last = _number(field, high) if dash else first
        if base == "*" or (slash and not dash):
            last = field.most
        if first is None or last is None:
            raise ValueError(f"{term!r} is not a {field.name}")
        values.update(range(first, last + 1, int(step or 1)))
    return values


# Validation


def _problem(field: _Field, word: str) -> str:
    """Why a field is invalid; "" if it is valid."""
    terms = word.split(",")
    problem = next(filter(None, (_term_problem(field, term) for term in terms)), "")
    if (
        field is _WEEKDAY
        and not problem
        and 0 < sum(_special(field, term) for term in terms) < len(terms)
    ):
        return "has days with `#` or `L` and days without: write two jobs"
    return problem


def _term_problem(field: _Field, term: str) -> str:
    base, slash, step = term.partition("/")
    if _special(field, term) or (base == "*" and not slash):
        return ""
    if slash and (not _NUMBER.fullmatch(step) or int(step) == 0):
        return "has a step that is not a number above 0"
    if base in {"*", ""}:
        return "" if base else "has an empty place in its list"
    ends = [_number(field, end) for end in base.split("-", 1)]
    if None in ends:
        if re.search(r"[#LW?]", base) and not re.fullmatch(r"[A-Z]{3,}", base):
            return _LETTERS
        names = f" or {field.names[0]} to {field.names[-1]}" if field.names else ""
        return f"is not among {field.least} to {field.most}{names}"
    return "is a range that goes backwards; ranges do not wrap" if _backwards(field, base) else ""


def _special(field: _Field, term: str) -> bool:
    """`L`, the last day of the month; `FRI#2`, the second Friday; `5L`, the last Friday."""
    if field is not _WEEKDAY:
        return field is _DAY and term == "L"
    day, hash_, which = term.partition("#")
    if not hash_:
        return term.endswith("L") and _number(field, term[:-1]) is not None
    return _number(field, day) is not None and which in {"1", "2", "3", "4", "5"}


def _number(field: _Field, word: str) -> int | None:
    if word in field.names:
        return field.names.index(word) + field.first
    if not _NUMBER.fullmatch(word) or not field.least <= int(word) <= field.most:
        return None
    return int(word)


def _backwards(field: _Field, base: str) -> bool:
    low, dash, high = base.partition("-")
    first, last = _number(field, low), _number(field, high)
    return bool(dash) and first is not None and last is not None and last < first


# Suggestions


def _remedy(words: list[str], at: int, better: tuple[str, str] | None) -> str:
    """A valid expression to suggest: the nearest one, or an example."""
    if better is not None:
        nearest = _with(words, at, better[1])
        right = not any(map(_problem, _FIELDS, nearest)) and len(" ".join(nearest)) <= _SHOWN
        if right and Expression(" ".join(nearest)).following(_BEGIN) is not None:
            return f"{better[0]} `{' '.join(nearest)}`."
    return f"An example is `{_EXAMPLE}`, which is every weekday at 9:30."


def _better(field: _Field, word: str) -> tuple[str, str] | None:
    """The introduction of a corrected field, and the field; None if no correction is known."""
    if any(_backwards(field, term.partition("/")[0]) for term in word.split(",")):
        unwrapped = ",".join(_unwrapped(field, term) for term in word.split(","))
        return None if _problem(field, unwrapped) else ("Over the end it is", unwrapped)

    def nearest(number: re.Match[str]) -> str:
        return str(min(max(int(number[0][:9]), field.least), field.most))

    clamped = re.sub(r"/0+\b", "/1", re.sub(r"(?<![/#])\b[0-9]+", nearest, word))
    clamped = "*" if word == "?" else clamped
    if field.names:
        clamped = re.sub(r"[A-Z]{2,}", lambda match: _named(field, match[0]), clamped)
    return None if _problem(field, clamped) else ("The nearest valid one is", clamped)


def _named(field: _Field, word: str) -> str:
    """The name that a word abbreviates to, such as JUL for JULY; otherwise the word."""
    return next((name for name in field.names if word.startswith(name)), word)


def _unwrapped(field: _Field, term: str) -> str:
    """A range that wraps around the end of its field, written out: `22-2` as `22-23,0-2`."""
    base, slash, step = term.partition("/")
    if not _backwards(field, base):
        return term
    low, _, high = base.partition("-")
    most = 6 if field is _WEEKDAY else field.most
    if slash:
        first, last = _number(field, low) or 0, _number(field, high) or 0
        size = most - field.least + 1
        numbers = range(first, last + size + 1, max(int(step), 1))
        return ",".join(str((number - field.least) % size + field.least) for number in numbers)
    named = low in field.names
    end = field.names[-1] if named else str(most)
    begin = field.names[0] if named else str(field.least)
    return f"{low if low == end else f'{low}-{end}'},{high if high == begin else f'{begin}-{high}'}"


def _never(words: list[str]) -> str:
    """The message for an expression that never matches."""
    days, months = _values(_DAY, words[2]), _values(_MONTH, words[3])
    if any(day <= _longest(month) for day in days for month in months) or not days:
        return (
            f"`{' '.join(words)}` never comes: those days of the month are never those days of the "
            f"week. The nearest valid one is `{' '.join(_with(words, 2, '*'))}`."
        )
    longest = str(max(_longest(month) for month in months))
    return (
        f"`{' '.join(words)}` never comes: those months have no such day. The nearest valid ones "
        f"are `{' '.join(_with(words, 2, longest))}` and `{' '.join(_with(words, 2, 'L'))}` "
        "(the last day of the month)."
    )


def _longest(month: int) -> int:
    """Days of the months in a leap year."""
    return calendar.monthrange(2000, month)[1]


def _with(words: list[str], at: int, word: str) -> list[str]:
    return [*words[:at], word, *words[at + 1 :]]
