"""What the clocks of a zone show, also when they change (daylight saving time)."""

from __future__ import annotations

import math
from datetime import datetime, tzinfo
from zoneinfo import ZoneInfo

from nanobot.errors import UsageError
from nanobot.plugins.common.times.zones import zone_of


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
