"""Schedules in English: `every weekday at 9`, `next friday at noon`, `in 20 minutes`."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import msgspec

from nanobot.plugins.cron.phrases import (
    NO_WORKDAY_OF_MONTH,
    Days,
    Interval,
    Later,
    Meaning,
    Phrase,
    Scanner,
    TimeOfDay,
    between,
    combined,
    coming_weekday,
    dated,
    day_of_month,
    next_time,
    reach,
    weekday_of_week,
)

_WORDS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"),
    *("nineteen", "twenty"),
)
_NUMBERS = {word: number for number, word in enumerate(_WORDS)} | {
    "a": 1,
    "an": 1,
    "other": 2,
    "thirty": 30,
    "forty": 40,
    "forty-five": 45,
    "fifty": 50,
    "sixty": 60,
    "ninety": 90,
}
_N = rf"\d{{1,6}}|{'|'.join(sorted(_NUMBERS, key=len, reverse=True))}"
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 7 * 86_400}
_UNIT = r"seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|weeks?"
_DAY = (
    r"(?:sun(?:day)?|mon(?:day)?|tue(?:s(?:day)?)?|wed(?:nesday)?|thu(?:r(?:s(?:day)?)?)?"
    r"|fri(?:day)?|sat(?:urday)?)"
)
_SHORT = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5}
_ORDINAL = rf"(?:\d{{1,2}}(?:st|nd|rd|th)|{'|'.join(_ORDINALS)})"
_MONTH_DAY = rf"(?:{_ORDINAL}|\d{{1,2}})"
_PART = r"morning|afternoon|evening|night|noon|midday|midnight"
_EVERY = r"(?:every|each)"
_OF_MONTHS = r"(?:(?:of|in)\s+(?:the|every|each|a)\s+month|(?:every|each)\s+month|monthly)"
_AND = r"(?:,\s*and|,|and|&|\+)"


def read(text: str, now: datetime) -> Phrase | None:
    """The schedule that a text begins with; `now` is local time (naive)."""
    found = []
    for rule in (_later, _interval, _days_and_times):
        scan = Scanner(text, r"[\s,]*", r"(?!\w)")
        meaning = rule(scan, now)
        if meaning is not None:
            found.append(Phrase(meaning, scan.at))
    return max(found, key=reach, default=None)


def _later(scan: Scanner, now: datetime) -> Meaning | None:
    """`in 20 minutes`, `in an hour and a half`, `2 hours from now`, `in 3 days at 9`."""
    begun = scan.take("in")
    seconds = _length(scan)
    if not seconds or not (begun or scan.take("from now")):
        return None
    if seconds % 86_400 == 0:
        times = _times(scan)
        if times:
            return combined(Days(once=(now + timedelta(seconds=seconds)).date()), times)
    return Later(seconds)


def _length(scan: Scanner) -> float:
    """`half an hour`, `2 hours and 30 minutes`, `1.5 hours`; 0 if no length follows."""
    if half := scan.take(r"half\s+an?\s+(hour|minute|day)|(?:a\s+)?quarter\s+of\s+an\s+(hour)"):
        return _SECONDS[half[1][0]] / 2 if half[1] else 900.0
    if decimal := scan.take(r"(\d{1,3}\.5)\s*(hours?|minutes?|days?)"):
        return float(decimal[1]) * _SECONDS[decimal[2][0].lower()]
    total = 0.0
    while part := scan.take(rf"{'(?:and)?' if total else ''}\s*({_N})\s*({_UNIT}|[smhdw])"):
        size = _SECONDS[part[2][0].lower()]
        total += _number(part[1]) * size
        if scan.take("and\\s+a\\s+half"):
            return total + size / 2
    return total


def _interval(scan: Scanner, now: datetime) -> Meaning | None:
    """`every 2 hours`, `every half hour`, `hourly`, `every 30 minutes between 9 and 17`."""
    if half := scan.take(rf"{_EVERY}\s+(half(?:\s+an?)?|quarter(?:\s+of\s+an)?)\s+hour"):
        every, unit = (30 if half[1].lower().startswith("half") else 15), "minutes"
    elif scan.take("hourly"):
        every, unit = 1, "hours"
    elif found := scan.take(rf"{_EVERY}\s+(?:({_N})\s*)?({_UNIT}|[smhdw])"):
        every, unit = _number(found[1] or "1"), found[2].lower()
        if scan.take("and\\s+a\\s+half"):
            return Interval(every * 1.5 * _SECONDS[unit[0]]) if every == 1 else None
    else:
        return None
    if not every:
        return None
    if unit[0] in "mh" and (hours := _window(scan)):
        days = _days(scan, now) or Days()
        return between(every, "hour" if unit[0] == "h" else "minute", *hours, days)
    return Interval(float(every * _SECONDS[unit[0]]))


def _window(scan: Scanner) -> tuple[TimeOfDay, TimeOfDay] | None:
    """`between 9 and 17`, `from 9am to 5pm`."""
    start = scan.at
    if scan.take("between|from"):
        first = _time(scan, bare=True)
        if first and scan.take("and|to|until|till|-") and (last := _time(scan, bare=True)):
            return first, last
    scan.at = start
    return None


def _days_and_times(scan: Scanner, now: datetime) -> Meaning | None:
    """`every weekday at 9`, `at 9 every weekday`, `tomorrow 18:00`, `at 18:00`."""
    times = _times(scan)
    days = _days(scan, now)
    if days is None:
        if not times:
            return None
        part = scan.take(rf"in\s+the\s+({_PART})")
        if part is None:
            return next_time(times, now)
        moment = combined(Days(once=now.date(), part=_part(part[1])), times)
        shown = getattr(moment, "shown", None)
        if shown is None or shown > now:
            return moment
        return msgspec.structs.replace(moment, shown=shown + timedelta(days=1))
    if not days.part and (part := scan.take(rf"(?:in\s+the\s+)?({_PART})s?")):
        days = msgspec.structs.replace(days, part=_part(part[1]))
    if not times:
        times = _times(scan)
        if times and not days.part and (part := scan.take(rf"in\s+the\s+({_PART})")):
            days = msgspec.structs.replace(days, part=_part(part[1]))
    if times and days.once is None and days == Days() and scan.take("on\\s+(?=weekdays)"):
        days = _days(scan, now) or days
    return combined(days, times)


# Times of a day


def _times(scan: Scanner) -> list[TimeOfDay]:
    """`at 9`, `9:30`, `at 9, 12 and 17:30`, `9am`."""
    first = _time(scan, bare=bool(scan.take("at|@")))
    times = [first] if first is not None else []
    while times:
        before = scan.at
        following = _time(scan, bare=True) if scan.take(rf"{_AND}(?:\s*at)?") else None
        if following is None:
            scan.at = before
            return times
        times.append(following)
    return times


def _time(scan: Scanner, *, bare: bool) -> TimeOfDay | None:
    """One time of day; `bare`: a number alone counts too."""
    before = scan.at
    found = _said(scan, bare=bare)
    if found is None or found.hour > 24 or found.minute > 59 or (found.hour == 24 and found.minute):
        scan.at = before
        return None
    return found


def _said(scan: Scanner, *, bare: bool) -> TimeOfDay | None:  # noqa: PLR0911 - one for each form
    if scan.take("noon|midday"):
        return TimeOfDay(12, exact=True)
    if scan.take("midnight"):
        return TimeOfDay(24, exact=True)
    if found := scan.take(rf"(half|(?:a\s+)?quarter)\s+(past|to)\s+({_N})"):
        minutes = 30 if found[1].lower() == "half" else 15
        hour = _number(found[3])
        return (
            TimeOfDay(hour, minutes)
            if found[2].lower() == "past"
            else TimeOfDay(hour - 1, 60 - minutes)
        )
    half = r"(a|p)\.?m\.?"
    if found := scan.take(rf"(\d{{1,2}})(?:[:.](\d\d))?\s*{half}"):
        hour = int(found[1])
        if not 1 <= hour <= 12:
            return None
        return TimeOfDay(hour % 12 + 12 * (found[3].lower() == "p"), int(found[2] or 0), exact=True)
    if found := scan.take(r"(\d{1,2})(?:[:.](\d\d)|h(\d\d)?)(?!:\d)"):
        minute = int(found[2] or found[3] or 0)
        return TimeOfDay(int(found[1]), minute, exact=len(found[1]) == 2 and int(found[1]) != 12)
    if found := scan.take(rf"({_N})\s*o['’]?\s?clock"):
        return TimeOfDay(_number(found[1]))
    found = scan.take(rf"({_N})(?![-:./]\d)") if bare else None
    return TimeOfDay(_number(found[1])) if found else None


# Days


def _days(scan: Scanner, now: datetime) -> Days | None:
    """The next days in the text."""
    for rule in (_nth, _month_days, _year_days, _week_days, _one_day):
        before = scan.at
        days = rule(scan, now)
        if days is not None:
            return days
        scan.at = before
    return None


def _nth(scan: Scanner, _: datetime) -> Days | None:
    """`on the first monday of the month`, `every last friday`, `the last day of the month`."""
    regular = scan.take(
        rf"(?:{_EVERY}\s+month|monthly)(?:\s+on)?|{_EVERY}(?=\s+(?:{_ORDINAL}|last))"
    )
    which = scan.take(
        rf"(?:on\s+)?(?:the\s+)?({_ORDINAL}|last)\s+(weekday|workday|working\s+day|business\s+day|day|{_DAY})"
    )
    of_month = which is not None and scan.take(_OF_MONTHS)
    if which is None or not (of_month or regular):
        return None
    word, day = which[1].lower(), which[2].lower()
    number = 0 if word == "last" else _ordinal(word)
    if number > 1 and not of_month and regular is not None and "month" not in regular[0].lower():
        return Days(problem=f"may count weeks or months: write `the {word} {day} of the month`")
    if day == "day":
        return Days(month_day="L" if not number else str(number))
    if day[:3] not in _SHORT:
        return Days(problem=NO_WORKDAY_OF_MONTH)
    if number > 5:
        return Days(problem="counts further than the days of a month")
    name = _SHORT.index(day[:3])
    return Days(weekday=f"{name}#{number}" if number else f"{name}L")


def _month_days(scan: Scanner, _: datetime) -> Days | None:
    """`every month on the 1st`, `on the 1st and 15th of every month`."""
    regular = scan.take(rf"(?:{_EVERY}\s+month|monthly)(?:\s+on)?|on(?=\s+the)")
    first = scan.take(rf"(?:the|day)\s+({_MONTH_DAY})" if regular else rf"the\s+({_MONTH_DAY})")
    if first is None:
        return None
    numbers = [_ordinal(first[1])]
    while following := scan.take(rf"{_AND}\s*(?:the\s+)?({_MONTH_DAY})(?!:)"):
        numbers.append(_ordinal(following[1]))
    monthly = regular is not None and regular[0].strip().lower() != "on"
    if not (scan.take(_OF_MONTHS) or monthly):
        return None
    if not all(1 <= number <= 31 for number in numbers):
        return Days(problem="has a day that no month has")
    return Days(month_day=",".join(map(str, sorted(set(numbers)))))


def _year_days(scan: Scanner, _: datetime) -> Days | None:
    """`every year on 24 december`, `every december 24th`, `on 24 december every year`."""
    regular = scan.take(rf"(?:{_EVERY}\s+year|yearly|annually)(?:\s+on)?|{_EVERY}")
    found = _month_and_day(scan)
    if found is None or not (scan.take(rf"{_EVERY}\s+year|yearly|annually") or regular):
        return None
    return Days(month=str(found[0]), month_day=str(found[1]))


def _month_and_day(scan: Scanner) -> tuple[int, int] | None:
    on = r"(?:on\s+)?(?:the\s+)?"
    if found := scan.take(rf"{on}({_MONTH_DAY})\.?\s+(?:of\s+)?({_MONTH})"):
        return _MONTHS.index(found[2][:3].lower()) + 1, _ordinal(found[1])
    if found := scan.take(rf"{on}({_MONTH})\.?\s+(?:the\s+)?({_MONTH_DAY})(?!:)"):
        return _MONTHS.index(found[1][:3].lower()) + 1, _ordinal(found[2])
    return None


def _week_days(scan: Scanner, _: datetime) -> Days | None:  # noqa: PLR0911 - one for each form
    """`every weekday`, `daily`, `on mondays and thursdays`, `monday to friday`, `every morning`."""
    if scan.take(rf"{_EVERY}\s*day|daily"):
        days = _week_days(scan, _) if scan.take("from(?=\\s)") else None
        return days or Days()
    if scan.take("nightly"):
        return Days(part="night")
    if part := scan.take(rf"{_EVERY}\s+({_PART})"):
        return Days(part=_part(part[1]))
    if scan.take(
        rf"(?:{_EVERY}\s+|on\s+)?(?:weekdays|workdays|working\s+days|business\s+days)|{_EVERY}\s+(?:weekday|workday|working\s+day|business\s+day)"
    ):
        return Days(weekday="1-5")
    if scan.take(rf"(?:on\s+)?weekends|{_EVERY}\s+weekend"):
        return Days(weekday="0,6")
    if span := scan.take(
        rf"(?:{_EVERY}\s+|on\s+|from\s+)?({_DAY})\s*(?:to|through|thru|-|–)\s*({_DAY})"
    ):
        return Days(weekday=_span(_weekday(span[1]), _weekday(span[2])))
    regular = scan.take(rf"(?:{_EVERY}\s+week|weekly)(?:\s+on)?|{_EVERY}")
    first = scan.take(rf"(?:on\s+)?({_DAY})(s?)")
    if first is None or not (regular or first[2]):
        return None
    numbers = [_weekday(first[1])]
    while following := scan.take(rf"{_AND}\s*(?:on\s+)?({_DAY})s?"):
        numbers.append(_weekday(following[1]))
    return Days(weekday=",".join(map(str, sorted(set(numbers)))))


def _one_day(scan: Scanner, now: datetime) -> Days | None:  # noqa: PLR0911 - one for each form
    """`today`, `tonight`, `tomorrow`, `next friday`, `monday next week`, `on 24 december 2026`."""
    today = now.date()
    if found := scan.take(r"tonight|this\s+(morning|afternoon|evening)"):
        return Days(once=today, part=_part(found[1] or "evening"))
    if scan.take("today"):
        return Days(once=today)
    if scan.take("(?:the\\s+)?day\\s+after\\s+tomorrow"):
        return Days(once=today + timedelta(days=2))
    if scan.take("tomorrow"):
        return Days(once=today + timedelta(days=1))
    if found := scan.take(rf"next\s+week(?:\s+on)?\s+({_DAY})|(?:on\s+)?({_DAY})\s+next\s+week"):
        return Days(once=weekday_of_week(_weekday(found[1] or found[2]), 1, now))
    if found := scan.take(rf"(?:on\s+)?(?:(next|this|coming)\s+)?({_DAY})"):
        after_today = (found[1] or "").lower() == "next"
        return Days(once=coming_weekday(_weekday(found[2]), now, after_today=after_today))
    if (day := _month_and_day(scan)) is not None:
        year = scan.take(r"(20\d\d)")
        return dated(int(year[1]) if year else None, *day, now)
    if found := scan.take(rf"on\s+the\s+({_ORDINAL})"):
        return day_of_month(_ordinal(found[1]), now)
    return None


# Words


def _number(word: str) -> int:
    return int(word) if word.isdigit() else _NUMBERS[word.lower()]


def _ordinal(word: str) -> int:
    digits = re.match(r"\d+", word)
    return int(digits[0]) if digits else _ORDINALS[word.lower()]


def _weekday(word: str) -> int:
    return _SHORT.index(word[:3].lower())


def _span(first: int, last: int) -> str:
    numbers = [(first + ahead) % 7 for ahead in range((last - first) % 7 + 1)]
    if first <= last:
        return f"{first}-{last}"
    return ",".join(map(str, sorted(numbers)))


def _part(word: str) -> str:
    return {"midday": "noon"}.get(word.lower(), word.lower())
