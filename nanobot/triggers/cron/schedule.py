"""When something is due: a cron expression in a zone, every so often, or once.

Where clocks change, Debian's cron is followed: what has fixed hours and minutes happens once on
both days (right after the gap if it lies within; the first of two equal times), and what has a star
there goes by elapsed time.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from difflib import get_close_matches
from functools import lru_cache
from itertools import islice
from typing import TypeAlias
from zoneinfo import ZoneInfo, available_timezones

import msgspec

from nanobot.errors import UsageError
from nanobot.triggers.cron.fields import Fields, fields_of

LEAST_SECONDS = 10.0
MOST_SECONDS = 10 * 366 * 86_400.0
_MOST_AHEAD = 10 * MOST_SECONDS

_DAY = timedelta(days=1)
_MINUTE = timedelta(minutes=1)
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_SPAN = re.compile(
    r"(?P<number>[+-]?\d{1,12})?\s*"
    r"(?P<unit>s|secs?|seconds?|m|mins?|minutes?|h|hours?|d|days?)",
    re.ASCII | re.IGNORECASE,
)
_TIME = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


class Cron(msgspec.Struct, frozen=True):
    """At the times of a cron expression, by the clocks of a zone."""

    fields: Fields
    zone: str

    @property
    def text(self) -> str:
        """As it was written, in its plain form."""
        return self.fields.text

    def next(self, after: float) -> float | None:
        """The first time after a moment (unix seconds); None: there is none."""
        zone = zone_of(self.zone)
        begin = datetime.fromtimestamp(after, zone).date() - _DAY
        for day in self.fields.dates(begin):
            first = self._first(day, zone, after)
            if first is None:
                continue
            # An evening may repeat when the next day has begun already.
            if self.fields.elapsed and self.fields.on(day + _DAY):
                other = self._first(day + _DAY, zone, after)
                return first if other is None else min(first, other)
            return first
        return None

    def _first(self, day: date, zone: ZoneInfo, after: float) -> float | None:
        """The first time on a day after a moment."""
        midnight = datetime(day.year, day.month, day.day, tzinfo=zone)
        end = (midnight + _DAY).replace(fold=1)
        if midnight.utcoffset() == end.utcoffset():
            return self._plain(midnight.timestamp(), after)
        times = self._elapsed(midnight) if self.fields.elapsed else self._fixed(midnight)
        return min((time for time in times if time > after), default=None)

    def _plain(self, midnight: float, after: float) -> float | None:
        """On a day without a change of clocks."""
        passed = math.floor((after - midnight) / 60)
        hours, minutes = self.fields.hours, self.fields.minutes
        for hour in hours[max(bisect_right(hours, passed // 60) - 1, 0) :]:
            for minute in minutes:
                if hour * 60 + minute > passed:
                    return midnight + (hour * 60 + minute) * 60
        return None

    def _wall(self, midnight: datetime) -> Iterator[datetime]:
        for hour in self.fields.hours:
            for minute in self.fields.minutes:
                yield midnight.replace(hour=hour, minute=minute, fold=0)

    def _fixed(self, midnight: datetime) -> Iterator[float]:
        for time in self._wall(midnight):
            while not _real(time):
                time += _MINUTE  # noqa: PLW2901 - to the end of the gap
            yield time.timestamp()

    def _elapsed(self, midnight: datetime) -> Iterator[float]:
        for time in self._wall(midnight):
            for one in (time, time.replace(fold=1)):
                if _real(one):
                    yield one.timestamp()


class Every(msgspec.Struct, frozen=True):
    """Every so many seconds, counted from a moment."""

    seconds: float
    anchor: float

    @property
    def text(self) -> str:
        """In the largest unit that fits."""
        for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1)):
            count, rest = divmod(int(self.seconds), size)
            if not rest:
                return f"every {count} {unit}s" if count > 1 else f"every {unit}"
        return f"every {self.seconds:g} seconds"

    def next(self, after: float) -> float | None:
        """The first time after a moment (unix seconds)."""
        found = self.anchor + (math.floor((after - self.anchor) / self.seconds) + 1) * self.seconds
        return found if found > after else found + self.seconds


class Once(msgspec.Struct, frozen=True):
    """At one time (unix seconds)."""

    at: float

    @property
    def text(self) -> str:
        """In ISO 8601, UTC."""
        return datetime.fromtimestamp(self.at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def next(self, after: float) -> float | None:
        """That time, if it is after the moment."""
        return self.at if self.at > after else None


Schedule: TypeAlias = Cron | Every | Once


def parse(text: str, zone: str, now: float) -> Schedule:
    """What is due when: `30 9 * * 1-5`, `@daily`, `every 20 minutes`, `2026-12-24T18:00` (in the
    zone unless it says another), `+20m`. Raises UsageError that says what would be right."""
    zone_of(zone)
    given = " ".join(text.split())
    if given.startswith("+") or re.match(r"in\s+[+-]?\d", given, re.IGNORECASE):
        left = _seconds(given.removeprefix("+").removeprefix("in ").removeprefix("In "), given)
        # Whole seconds, so that it reads as it is kept.
        return Once(float(math.ceil(now + left)))
    if re.match(r"every\b", given, re.IGNORECASE):
        seconds = _seconds(given[len("every") :].strip(), given)
        if seconds < LEAST_SECONDS:
            raise UsageError(f"{given!r} is too often: at least `every {LEAST_SECONDS:g} seconds`.")
        return Every(seconds, float(math.floor(now)))
    if _TIME.match(given):
        return _at(given, zone, now)
    if given.startswith("@") or (len(given.split()) == 5 and re.search("[0-9*]", given)):
        return Cron(fields_of(given), zone)
    raise UsageError(
        f"{given[:60]!r} is no schedule. Write `30 9 * * 1-5` (minute, hour, day of the month, "
        "month, day of the week), `@daily`, `every 20 minutes`, `2026-12-24T18:00` or `+20m`."
    )


def restored(text: str, zone: str, anchor: float) -> Schedule:
    """A schedule from its `text`, as `parse` made it; `anchor` is what it was counted from."""
    if text.startswith("every"):
        return Every(_seconds(text[len("every") :].strip(), text), anchor)
    if _TIME.match(text):
        return Once(datetime.fromisoformat(text).timestamp())
    return Cron(fields_of(text), zone)


def split(text: str) -> tuple[str, str]:
    """The schedule that a text seems to begin with, and what follows it."""
    words = text.split()
    count = _length(text, words)
    rest = text.split(maxsplit=count)[count:]
    return " ".join(words[:count]).rstrip(":,"), "".join(rest).strip()


def _length(text: str, words: list[str]) -> int:
    """How many words a schedule at the head of a text has."""
    head = words[0].lower() if words else ""
    if head in {"every", "in"}:
        found = re.match(r"\s*\S+\s+(?:[+-]?\d+\s*)?[A-Za-z]+\b[:,]?", text)
        return len(found[0].split()) if found else 2
    if _TIME.match(head):
        return 2 if len(words) > 1 and re.fullmatch(r"\d\d:\d\d(:\d\d)?", words[1]) else 1
    return 1 if head.startswith(("+", "@")) else 5


def coming(schedule: Schedule, after: float, count: int) -> list[float]:
    """The next times after a moment, at most so many."""
    return list(islice(_times(schedule, after), count))


def _times(schedule: Schedule, after: float) -> Iterator[float]:
    found = schedule.next(after)
    while found is not None:
        yield found
        found = schedule.next(found)


@lru_cache(maxsize=1)
def _zones() -> dict[str, str]:
    return {name.casefold(): name for name in available_timezones()}


@lru_cache(maxsize=700)
def zone_of(name: str) -> ZoneInfo:
    """A zone of the IANA database. Raises UsageError naming the nearest."""
    known = _zones().get(name.casefold())
    if known is not None:
        return ZoneInfo(known)
    zones = _zones()
    near = get_close_matches(name.casefold()[:80], zones, n=3, cutoff=0.6)
    by_city = [full for full in zones if full.rpartition("/")[2] == name.casefold().strip()]
    found = list(dict.fromkeys([*by_city, *near]))[:3]
    hint = f"; did you mean {' or '.join(zones[one] for one in found)}?" if found else "."
    raise UsageError(f"there is no zone {name[:60]!r}: write it as in Europe/Berlin{hint}")


def moment(text: str, zone: str) -> float:
    """The unix seconds of a time in ISO 8601, in the zone unless it says another. Raises
    UsageError."""
    try:
        time = datetime.fromisoformat(text)
        if time.tzinfo is None:
            time = time.replace(tzinfo=zone_of(zone))
            while not _real(time):
                time += _MINUTE
        return float(math.ceil(time.timestamp()))
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"{text[:60]!r} is no time ({error}): write it as in 2026-12-24T18:00 or "
            "2026-12-24T18:00:00+01:00."
        ) from None


def _at(given: str, zone: str, now: float) -> Once:
    at = moment(given, zone)
    if at <= now:
        raise UsageError(f"{given!r} has passed already.")
    if at - now > _MOST_AHEAD:
        raise UsageError(f"{given!r} is more than 100 years ahead.")
    return Once(at)


def _seconds(words: str, given: str) -> float:
    """The length of `20m`, `2 hours`, `day`. Raises UsageError."""
    found = _SPAN.fullmatch(words.strip())
    if found is None:
        raise UsageError(f"{given[:60]!r}: a length is written as in 90s, 20m, 2 hours or 3 days.")
    seconds = float(int(found["number"] or 1) * _UNITS[found["unit"][0].lower()])
    if seconds <= 0:
        raise UsageError(f"{given!r}: time goes forward; the least is 1s.")
    if seconds > MOST_SECONDS:
        raise UsageError(f"{given!r} is too long: at most 10 years, which is 3660 days.")
    return seconds


def _real(time: datetime) -> bool:
    """Whether clocks ever show this time (they jump over some in spring). A `fold` of 1 is real
    only where the time comes twice."""
    back = time.astimezone(UTC).astimezone(time.tzinfo)
    return back.replace(tzinfo=None) == time.replace(tzinfo=None) and back.fold == time.fold
