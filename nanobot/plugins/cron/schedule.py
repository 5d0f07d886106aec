"""Schedules: a cron expression in a zone, an interval, or one time."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import TypeAlias

import msgspec

from nanobot.errors import UsageError
from nanobot.plugins.common.times.local_times import moment
from nanobot.plugins.common.times.zones import zone_of
from nanobot.plugins.cron.clock_changes import next_elapsed, next_fixed
from nanobot.plugins.cron.expression import Expression, expression_of
from nanobot.plugins.cron.phrases import Incomplete, Interval, Later, Meaning, Repeats
from nanobot.plugins.cron.spoken import EXAMPLES, phrase_at
from nanobot.text import pattern

LEAST_SECONDS = 10.0
MOST_SECONDS = 10 * 366 * 86_400.0
_MOST_AHEAD = 10 * MOST_SECONDS

_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_SPAN = pattern(
    r"(?P<number>[+-]?\d{1,12})?\s*"
    r"(?P<unit>s|secs?|seconds?|m|mins?|minutes?|h|hours?|d|days?)",
    re.ASCII | re.IGNORECASE,
)
_PLAIN = pattern(r"(?P<how>every\s|in\s|\+)\s*(?P<length>.+)", re.ASCII | re.IGNORECASE)
_FIELDS = pattern(r"[\d*/,-]+", re.ASCII)
_SIXTH = pattern(r"\d*[*/,-][\d*/,-]*", re.ASCII)
_WITH_TIME = pattern(r"\bat\s+\d|\d:\d|\d\s*[ap]m\b|noon|midnight|[点时]", re.IGNORECASE)
_NO_TIME = pattern(r"at\s+\d[\d:.]*|\d+:\d+|(?P<han>\d+\s*[点时:：])", re.IGNORECASE)
_TIME = pattern(r"\d{4}-\d\d-\d\d", re.ASCII)


class Cron(msgspec.Struct, frozen=True):
    """The times of a cron expression, by the clocks of a zone."""

    expression: Expression
    zone: str

    @property
    def text(self) -> str:
        """The expression as entered, in its plain form."""
        return self.expression.text

    def next(self, after: float) -> float | None:
        """The first time after a moment (unix seconds); None if there is none. Raises UsageError if
        the zone no longer exists.
        """
        rule = next_elapsed if self.expression.elapsed else next_fixed
        try:
            return rule(self.expression.following, after, zone_of(self.zone))
        except (ValueError, OverflowError) as error:
            raise UsageError(f"{self.text[:60]!r} is not a schedule ({error}).") from error


class Every(msgspec.Struct, frozen=True):
    """Every N seconds, counted from a moment."""

    seconds: float
    anchor: float

    @property
    def text(self) -> str:
        """The interval in the largest unit that fits."""
        for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1)):
            count, rest = divmod(int(self.seconds), size)
            if not rest:
                return f"every {count} {unit}s" if count > 1 else f"every {unit}"
        return f"every {self.seconds:g} seconds"

    def next(self, after: float) -> float | None:
        """The first time after a moment (unix seconds)."""
        at = self.anchor + (math.floor((after - self.anchor) / self.seconds) + 1) * self.seconds
        return at if at > after else at + self.seconds


class Once(msgspec.Struct, frozen=True):
    """At one time (unix seconds)."""

    at: float

    @property
    def text(self) -> str:
        return datetime.fromtimestamp(self.at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def next(self, after: float) -> float | None:
        """That time, if it is after the moment."""
        return self.at if self.at > after else None


Schedule: TypeAlias = Cron | Every | Once


def parse(text: str, zone: str, now: float) -> Schedule:
    """Parse a schedule: `30 9 * * 1-5`, `@daily`, `every 20 minutes`, `2026-12-24T18:00` (in the
    zone unless it has an offset), `+20m`, or a phrase such as `every weekday at 9`. Raises
    UsageError that suggests a valid schedule.
    """
    info = zone_of(zone)
    written = " ".join(text.split())
    plain = _PLAIN.fullmatch(written)
    if plain is not None and (plain["how"] == "+" or _SPAN.fullmatch(plain["length"])):
        seconds = _seconds(plain["length"], written)
        repeats = plain["how"].lower().startswith("every")
        return _every(seconds, written, now) if repeats else _later(seconds, written, now)
    if _TIME.match(written):
        return _at(written, zone, now)
    phrase = phrase_at(written, datetime.fromtimestamp(now, info).replace(tzinfo=None))
    if phrase is not None and not written[phrase.length :].strip(" .,:;。，：；"):
        return _meant(phrase.meaning, written, zone, now)
    if written.startswith("@") or _like_cron(written.split()):
        return Cron(expression_of(written), zone)
    raise UsageError(
        f"{written[:60]!r} is not a schedule. Write it in words, as in {EXAMPLES}; or as `30 9 * * "
        "1-5` (minute, hour, day of the month, month, day of the week), `@daily`, `every 2 hours`, "
        "`2026-12-24T18:00` or `+20m`."
    )


def _meant(meaning: Meaning, written: str, zone: str, now: float) -> Schedule:
    """The schedule that a phrase means."""
    if isinstance(meaning, Incomplete):
        raise UsageError(
            f"{written[:60]!r} is not a schedule yet: it {meaning.why}. Examples: {EXAMPLES}."
        )
    if isinstance(meaning, Repeats):
        return Cron(expression_of(meaning.expression), zone)
    if isinstance(meaning, Interval):
        return _every(meaning.seconds, written, now)
    if isinstance(meaning, Later):
        return _later(meaning.seconds, written, now)
    return _at(meaning.shown.isoformat(), zone, now)


def _later(seconds: float, written: str, now: float) -> Once:
    # Whole seconds, so that it reads the same once stored.
    return Once(float(math.ceil(now + _bounded(seconds, written))))


def _every(seconds: float, written: str, now: float) -> Every:
    if seconds < LEAST_SECONDS:
        raise UsageError(
            f"{written[:60]!r} is too often: write `every {LEAST_SECONDS:g} seconds` or more."
        )
    return Every(_bounded(seconds, written), float(math.floor(now)))


def _bounded(seconds: float, written: str) -> float:
    if seconds > MOST_SECONDS:
        raise UsageError(
            f"{written[:60]!r} is too long: at most 10 years, as in `every 3660 days` or `+3660d`."
        )
    return seconds


def _like_cron(words: list[str]) -> bool:
    """Whether the text has five fields, or six with a number or a star first."""
    if len(words) == 6:
        return all(re.match(r"[*\d]", word, re.ASCII) for word in words[:2])
    word = len(words) == 5 and re.fullmatch(r"[a-z]{2,}", words[0], re.IGNORECASE)
    return len(words) == 5 and not word and any(re.search("[0-9*]", each) for each in words)


def restored(text: str, zone: str, anchor: float) -> Schedule:
    """A schedule from the `text` that `parse` made; `anchor` is the moment it was counted from."""
    if text.startswith("every"):
        return Every(_seconds(text[len("every") :].strip(), text), anchor)
    if _TIME.match(text):
        return Once(datetime.fromisoformat(text).timestamp())
    return Cron(Expression(text), zone)


def split(text: str, zone: str, now: float) -> tuple[str, str]:
    """Split a text into the schedule it seems to begin with and the rest. Raises UsageError for a
    phrase with an invalid time of day: without that time the phrase would mean another time.
    """
    words = text.split()
    head = words[0].lower() if words else ""
    if _TIME.match(head):
        count = 2 if len(words) > 1 and re.fullmatch(r"\d\d:\d\d(:\d\d)?", words[1]) else 1
    elif head.startswith(("+", "@")):
        count = 1
    else:
        count = 5
        shown = datetime.fromtimestamp(now, zone_of(zone)).replace(tzinfo=None)
        cron = len(words) > 4 and all(map(_FIELDS.fullmatch, words[:2]))
        if cron and len(words) > 6 and _SIXTH.fullmatch(words[5]):
            count = 6  # seconds, which have their own error
        phrase = None if cron else phrase_at(text.lstrip(), shown)
        if phrase is not None:
            return _told_apart(text.lstrip()[: phrase.length], text.lstrip()[phrase.length :])
    rest = "".join(text.split(maxsplit=count)[count:])
    return " ".join(words[:count]).rstrip(":,"), rest.strip()


def _told_apart(said: str, rest: str) -> tuple[str, str]:
    """Split a text into a phrase and the task."""
    said, rest = " ".join(said.split()), rest.lstrip(" \t\r\n:,;：，；。").rstrip()
    if said.lower().endswith(" at"):  # as in `every monday at the office`
        said, rest = said[:-3], f"{said[-2:]} {rest}".rstrip()
    no_time = None if _WITH_TIME.search(said) else _NO_TIME.match(rest)
    if no_time is not None:
        between = "" if no_time["han"] else " "
        raise UsageError(
            f"{f'{said}{between}{no_time[0]}'[:60]!r} is not a schedule: there is no such time of "
            f"day, or it does not go with the rest. Examples: {EXAMPLES}."
        )
    return said, rest


def coming(schedule: Schedule, after: float, count: int) -> list[float]:
    """The next times after a moment, at most `count`."""
    return list(islice(_times(schedule, after), count))


def _times(schedule: Schedule, after: float) -> Iterator[float]:
    time = schedule.next(after)
    while time is not None:
        yield time
        time = schedule.next(time)


def _at(written: str, zone: str, now: float) -> Once:
    tomorrow = datetime.fromtimestamp(now + 86_400.0, zone_of(zone))
    example = f"{tomorrow:%Y-%m-%d}T18:00"
    at = moment(written, zone, example)
    if at <= now:
        raise UsageError(
            f"{written[:60]!r} has passed already: write a time to come, as in `{example}` or "
            "`+20m`."
        )
    if at - now > _MOST_AHEAD:
        raise UsageError(
            f"{written[:60]!r} is more than 100 years ahead: write an earlier time, as in "
            f"`{example}`."
        )
    return Once(at)


def _seconds(words: str, written: str) -> float:
    """The seconds of `20m`, `2 hours`, `day`. Raises UsageError."""
    match = _SPAN.fullmatch(words.strip())
    if match is None:
        raise UsageError(
            f"{written[:60]!r}: a length is written as in `+90s`, `+20m`, `+2 hours` or `+3 days`."
        )
    seconds = float(int(match["number"] or 1) * _UNITS[match["unit"][0].lower()])
    if seconds <= 0:
        raise UsageError(
            f"{written[:60]!r}: time only goes forward; write a length above zero, as in `+20m` or "
            "`every 20 minutes`."
        )
    return _bounded(seconds, written)
