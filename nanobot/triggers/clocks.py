"""Time zones, and what their clocks show when they change (daylight saving time)."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, tzinfo
from difflib import get_close_matches
from functools import lru_cache
from typing import Protocol
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from nanobot.errors import ConfigError, UsageError
from nanobot.seam.faces import Interface


class DailyHours(Protocol):
    """Hours of each day, such as 22:00 to 08:00."""

    def until(self, now: float) -> float | None:
        """When the hours end (unix seconds) if that moment is within them; otherwise None."""
        ...


DAILY_HOURS: Interface[Callable[[str, str, str, str], DailyHours | None]] = Interface("daily_hours")
"""The hours from one time of day to another (`quiet_from` and `quiet_until` of a table), in a zone,
by the path of the table. None if both times are empty. Raises ConfigError that names the key."""


@lru_cache(maxsize=1)
def _zones() -> dict[str, str]:
    return {name.casefold(): name for name in available_timezones()}


def _of_that_name(name: str) -> ZoneInfo | None:
    """The zone with exactly this name, found without listing all zones, which reads hundreds of
    files. None if the list has to decide.
    """
    # not zones: "posixrules" and "right/..." are files in the same folder
    if not name[:1].isupper():
        return None
    zone = _loaded(name)
    # If the file system ignores case, only the list knows the right spelling.
    return zone if zone is not None and _loaded(name.swapcase()) is None else None


def _loaded(name: str) -> ZoneInfo | None:
    with suppress(ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo(name)
    return None


@lru_cache(maxsize=700)
def zone_of(name: str) -> ZoneInfo:
    """A zone of the IANA database. Raises UsageError that names the most similar zone."""
    if (zone := _of_that_name(name)) is not None:
        return zone
    zones = _zones()
    if name.casefold() in zones:
        return ZoneInfo(zones[name.casefold()])
    near = get_close_matches(name.casefold()[:80], zones, n=3, cutoff=0.6)
    by_city = [full for full in zones if full.rpartition("/")[2] == name.casefold().strip()]
    candidates = list(dict.fromkeys([*by_city, *near]))[:3]
    hint = (
        f"; did you mean {' or '.join(zones[candidate] for candidate in candidates)}?"
        if candidates
        else "."
    )
    raise UsageError(f"there is no zone {name[:60]!r}: write it as in Europe/Berlin{hint}")


def zone_given(zone: str, machine: str, path: str) -> str:
    """The name of the given zone; the machine's zone if none is given, or UTC if that is unknown.
    Raises ConfigError that names the most similar zone.
    """
    try:
        return zone_of(zone or machine).key
    except UsageError as error:
        if not zone:
            return "UTC"
        raise ConfigError(f"{path}.zone: {error}") from None


def known_zone(name: str) -> str:
    """The name of that zone as the database spells it, or UTC if there is no such zone."""
    try:
        return zone_of(name).key
    except UsageError:
        return "UTC"


def moment(text: str, zone: str, example: str = "2030-12-24T18:00") -> float:
    """The unix seconds of a time in ISO 8601, in the zone unless it has an offset. Raises
    UsageError that suggests a valid time.
    """
    try:
        time = datetime.fromisoformat(text)
        unix = instant(time, zone_of(zone)) if time.tzinfo is None else time.timestamp()
        return float(math.ceil(unix))
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"{text[:60]!r} is not a time: there is no such day or hour, or it is written in "
            f"another "
            f"form than `{example}` or `{example}:00+01:00`."
        ) from error


def instant(shown: datetime, zone: ZoneInfo, *, last: bool = False) -> float:
    """When clocks show this naive time (unix seconds), for the first time or the `last`. If clocks
    skip it, the end of the gap.
    """
    first, second = both(shown, zone)
    if first <= second:
        return second if last else first
    return clocks_change(second - 1, first, zone)


def both(shown: datetime, zone: ZoneInfo) -> tuple[float, float]:
    """A naive time by the clocks before a change and by those after it. Within a gap, the first of
    the two is later.
    """
    here = shown.replace(tzinfo=zone)
    return here.timestamp(), here.replace(fold=1).timestamp()


def clocks_change(low: float, high: float, zone: ZoneInfo) -> float:
    """The second after `low`, up to `high`, at which clocks change."""
    before, after = int(low), -int(-high // 1)
    offset = datetime.fromtimestamp(after, zone).utcoffset()
    while after - before > 1:
        middle = (before + after) // 2
        if datetime.fromtimestamp(middle, zone).utcoffset() == offset:
            after = middle
        else:
            before = middle
    return float(after)


def shown_at(time: float, zone: tzinfo) -> datetime:
    """The local time at that moment, naive."""
    return datetime.fromtimestamp(time, zone).replace(tzinfo=None, fold=0)
