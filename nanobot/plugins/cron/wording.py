"""Schedules written out in words, in English or Chinese: `every weekday at 09:00`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from itertools import pairwise
from typing import Protocol

from nanobot.plugins.common.times.zones import zone_of
from nanobot.plugins.cron.expression import fields_of
from nanobot.plugins.cron.schedule import Cron, Every, Schedule
from nanobot.plugins.cron.spoken import chinese_text

_MOST_LISTED = 4
_DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_ORDINALS = ("", "first", "second", "third", "fourth", "fifth")
_HAN_DAYS = "日一二三四五六"
_HAN_UNITS = {"second": "秒", "minute": "分钟", "hour": "小时", "day": "天"}
_HAN_NUMBERS = "零一二三四五"


def in_words(schedule: Schedule, zone: str, like: str = "") -> str:
    """The rule in words, in Chinese if `like` is Chinese."""
    chinese = chinese_text(like)
    if isinstance(schedule, Cron):
        return _cron_words(schedule.text, chinese)
    if isinstance(schedule, Every):
        return _every_in_chinese(schedule.text) if chinese else schedule.text
    return f"一次,{_shown(schedule.at, zone)}" if chinese else f"once, {_shown(schedule.at, zone)}"


def next_times(zone: str, times: Sequence[float]) -> str:
    """The next times of a rule; "" if they say no more than the rule, which happens once."""
    return ", ".join(_shown(time, zone) for time in times) if len(times) > 1 else ""


def said_back(rule: str, zone: str, times: Sequence[float]) -> str:
    """The rule in words with its zone and its next times, for the model."""
    following = next_times(zone, times)
    return f"{rule} ({zone}). Next: {following}" if following else f"{rule} ({zone})"


def _shown(time: float, zone: str) -> str:
    return datetime.fromtimestamp(time, zone_of(zone)).strftime("%a %Y-%m-%d %H:%M")


def _every_in_chinese(text: str) -> str:
    words = text.split()
    count = words[1] if len(words) > 2 else ""
    return f"每{count}{_HAN_UNITS[words[-1].rstrip('s')]}"


@lru_cache(maxsize=1_024)
def _cron_words(text: str, chinese: bool) -> str:  # noqa: FBT001 - a key of the cache
    minutes, hours, days, months, weekdays = fields_of(text)
    language: _Language = _Chinese() if chinese else _English()
    times, repeating = _times(language, sorted(minutes.numbers), sorted(hours.numbers))
    return language.sentence(
        _dates(language, days.numbers, days.last, months.numbers),
        language.weekdays(sorted(weekdays.numbers), weekdays.nth),
        both=days.star or weekdays.star,
        times=times,
        repeating=repeating,
    )


class _Language(Protocol):
    """The words of a language for the parts of a cron expression; "" means no restriction."""

    def clock(self, times: list[str]) -> str: ...

    def spaced(self, count: int, unit: str, first: str, last: str) -> str: ...

    def scattered(self, minutes: list[int], hours: list[int]) -> str: ...

    def dates(self, days: list[int], last: bool, months: list[int]) -> str: ...  # noqa: FBT001

    def weekdays(self, numbers: list[int], nth: Sequence[tuple[int, int]]) -> str: ...

    def sentence(
        self, dates: str, weekdays: str, *, both: bool, times: str, repeating: bool
    ) -> str: ...


def _dates(language: _Language, days: set[int], last: bool, months: set[int]) -> str:  # noqa: FBT001
    whole_year, whole_month = len(months) == 12, len(days) == 31
    return language.dates(
        [] if whole_month else sorted(days), last, [] if whole_year else sorted(months)
    )


def _times(language: _Language, minutes: list[int], hours: list[int]) -> tuple[str, bool]:
    """The times within a day, and whether they read `every ...`."""
    if len(minutes) * len(hours) <= _MOST_LISTED:
        clock = [f"{hour:02}:{minute:02}" for hour in hours for minute in minutes]
        return language.clock(clock), False
    first, last = f"{hours[0]:02}:00", f"{hours[-1]:02}:00"
    step = _step(minutes)
    if minutes[0] == 0 and step and 60 % step == 0 and minutes[-1] + step == 60:
        if len(hours) == 24:
            return language.spaced(step, "minute", "", ""), True
        if _step(hours) == 1 or len(hours) == 1:
            return language.spaced(step, "minute", first, f"{hours[-1] + 1}:00"), True
    if minutes == [0] and (every := _step(hours)):
        if len(hours) == 24:
            return language.spaced(1, "hour", "", ""), True
        return language.spaced(every, "hour", first, last), True
    return language.scattered(minutes, [] if len(hours) == 24 else hours), True


def _step(numbers: list[int]) -> int:
    """The constant difference between consecutive numbers; 0 if it is not constant."""
    steps = {after - before for before, after in pairwise(numbers)}
    return steps.pop() if len(steps) == 1 else 0


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


class _English:
    def clock(self, times: list[str]) -> str:
        return f"at {_listed(times)}"

    def spaced(self, count: int, unit: str, first: str, last: str) -> str:
        every = f"every {unit}" if count == 1 else f"every {count} {unit}s"
        return f"{every} between {first} and {last}" if first else every

    def scattered(self, minutes: list[int], hours: list[int]) -> str:
        of = f"hours {_listed([str(hour) for hour in hours])}" if hours else "every hour"
        if len(minutes) == 60:
            return f"every minute of {of}"
        return f"at {_listed([f':{minute:02}' for minute in minutes])} of {of}"

    def dates(self, days: list[int], last: bool, months: list[int]) -> str:  # noqa: FBT001
        names = _listed([_MONTHS[month - 1] for month in months]) if months else ""
        if len(days) == len(months) == 1 and not last:
            return f"every year on {days[0]} {names}"
        each = [*([_listed([_th(day) for day in days])] if days else []), *["last day"] * last]
        if not each:
            return f"every day in {names}" if names else ""
        return f"on the {' and the '.join(each)} of {names or 'every month'}"

    def weekdays(self, numbers: list[int], nth: Sequence[tuple[int, int]]) -> str:
        if nth:
            each = [f"{_ORDINALS[which] if which else 'last'} {_DAYS[day]}" for day, which in nth]
            return f"on the {' and the '.join(each)} of the month"
        if len(numbers) == 7:
            return ""
        if numbers == [1, 2, 3, 4, 5]:
            return "every weekday"
        return (
            "every weekend"
            if numbers == [0, 6]
            else f"every {_listed([_DAYS[n] for n in numbers])}"
        )

    def sentence(
        self, dates: str, weekdays: str, *, both: bool, times: str, repeating: bool
    ) -> str:
        days = (", if that is " if both else ", and ").join(filter(None, (dates, weekdays)))
        if repeating:
            return f"{times}, {days}" if days else times
        return f"{days or 'every day'} {times}"


class _Chinese:
    def clock(self, times: list[str]) -> str:
        return "、".join(times)

    def spaced(self, count: int, unit: str, first: str, last: str) -> str:
        every = f"每{count if count > 1 else ''}{_HAN_UNITS[unit]}"
        return f"{first}到{last} {every}" if first else every

    def scattered(self, minutes: list[int], hours: list[int]) -> str:
        of = f"{'、'.join(map(str, hours))}点" if hours else "每小时"
        return f"{of}的第{'、'.join(map(str, minutes))}分" if len(minutes) < 60 else f"{of}的每分钟"

    def dates(self, days: list[int], last: bool, months: list[int]) -> str:  # noqa: FBT001
        names = "、".join(f"{month}月" for month in months)
        each = [*(f"{day}日" for day in days), *["最后一天"] * last]
        if not each:
            return f"{names}每天" if names else ""
        return f"每年{names}{'、'.join(each)}" if names else f"每月{'、'.join(each)}"

    def weekdays(self, numbers: list[int], nth: Sequence[tuple[int, int]]) -> str:
        if nth:
            return "、".join(
                f"每月{f'第{_HAN_NUMBERS[which]}' if which else '最后一'}个周{_HAN_DAYS[day]}"
                for day, which in nth
            )
        if len(numbers) == 7:
            return ""
        if numbers == [1, 2, 3, 4, 5]:
            return "每个工作日"
        return (
            "每个周末" if numbers == [0, 6] else f"每周{'、'.join(_HAN_DAYS[n] for n in numbers)}"
        )

    def sentence(
        self, dates: str, weekdays: str, *, both: bool, times: str, repeating: bool
    ) -> str:
        days = (",且为" if both else ",以及").join(filter(None, (dates, weekdays)))
        if not days:
            days = "" if repeating and "到" not in times else "每天"
        return f"{days} {times}".strip()


def _th(day: int) -> str:
    ending = "th" if 10 < day < 14 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{ending}"
