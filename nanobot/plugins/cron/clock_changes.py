"""Schedules across clock changes (daylight saving time), by the rule of Debian's cron.

A schedule with fixed hours and minutes runs once on such days: right after the gap if its time lies
within it, and at the first of two equal times. A schedule by elapsed time runs whenever clocks show
its time.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TypeAlias
from zoneinfo import ZoneInfo

from nanobot.plugins.common.times.local_times import both, clocks_change, instant, shown_at

Following: TypeAlias = Callable[[datetime], datetime | None]
"""Returns the first time of a schedule after another, both in local time (naive)."""

_MOMENT = timedelta(seconds=1)


def next_fixed(following: Following, after: float, zone: ZoneInfo) -> float | None:
    """The next time of a schedule with fixed hours and minutes."""
    here = datetime.fromtimestamp(after, zone)
    shown: datetime | None = here.replace(tzinfo=None, fold=0)
    if here.fold:
        # Clocks show this for the second time: every time up to the change is already past.
        first = here.replace(fold=0)
        change = clocks_change(first.timestamp(), after, zone)
        shown = shown_at(change, UTC) + (first.utcoffset() or timedelta()) - _MOMENT
    while shown is not None:
        shown = following(shown)
        time = None if shown is None else instant(shown, zone)
        if time is not None and time > after:
            return time
    return None


def next_elapsed(following: Following, after: float, zone: ZoneInfo) -> float | None:
    """The next time of a schedule by elapsed time."""
    here = datetime.fromtimestamp(after, zone)
    shown = here.replace(tzinfo=None, fold=0)
    again = here.replace(fold=1).timestamp()
    time = _next_shown(following, shown, after, zone)
    if here.fold or again <= after:
        return time
    # Clocks will be set back: earlier times then come again, possibly before `time`.
    change = clocks_change(after, again, zone)
    repeated = _next_shown(following, shown_at(change, zone) - _MOMENT, change - 1, zone)
    return min((at for at in (time, repeated) if at is not None), default=None)


def _next_shown(
    following: Following, shown: datetime, after: float, zone: ZoneInfo
) -> float | None:
    """The first moment after `after` at which clocks show a time of the schedule that follows
    `shown`.
    """
    while (time := following(shown)) is not None:
        first, second = both(time, zone)
        if first > second:
            shown = shown_at(clocks_change(second - 1, first, zone), zone) - _MOMENT
            continue
        for at in (first, second):
            if at > after:
                return at
        shown = time
    return None
