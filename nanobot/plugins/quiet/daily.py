"""Hours of a day, such as 22:00 to 08:00, by the clocks of a zone.

When clocks change, both readings of a repeated time count: the hours begin at the first occurrence
of their start and end at the last occurrence of their end. A skipped time counts as the end of the
gap.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import msgspec

from nanobot.errors import ConfigError
from nanobot.plugins.common.times.local_times import instant
from nanobot.plugins.common.times.zones import zone_of
from nanobot.text import pattern

_TIME = pattern(r"([01]?\d|2[0-3]):([0-5]\d)", re.ASCII)
_DAY = timedelta(days=1)


class Hours(msgspec.Struct, frozen=True):
    """From `begin` to `end`, in minutes of the day; past midnight if `end` is smaller."""

    begin: int
    end: int
    zone: str

    def until(self, now: float) -> float | None:
        """When the hours end (unix seconds) if that moment is within them; otherwise None."""
        zone = zone_of(self.zone)
        today = datetime.fromtimestamp(now, zone).date()
        over = _DAY if self.end < self.begin else timedelta()
        for day in (today - _DAY, today):
            end = _instant(day + over, self.end, zone, last=True)
            if _instant(day, self.begin, zone, last=False) <= now < end:
                return end
        return None


def hours_of(begin: str, end: str, zone: str, path: str) -> Hours | None:
    """The hours configured in the table `path`, None if both are empty. The zone has been checked.

    Raises ConfigError that names the key and suggests a valid value.
    """
    if not begin and not end:
        return None
    if not begin or not end:
        lacking = "quiet_until" if begin else "quiet_from"
        raise ConfigError(
            f'{path}.{lacking} is empty: set both, as in quiet_from = "22:00" and '
            'quiet_until = "08:00", or neither.'
        )
    first, last = _minutes(begin, f"{path}.quiet_from"), _minutes(end, f"{path}.quiet_until")
    if first == last:
        raise ConfigError(
            f"{path}.quiet_from and {path}.quiet_until are both {begin!r}: those are not hours. "
            "Set them apart, or leave both out."
        )
    return Hours(first, last, zone)


def _minutes(text: str, key: str) -> int:
    match = _TIME.fullmatch(text.strip())
    if match is None:
        raise ConfigError(
            f'{key} is {text[:20]!r}, which is not a time of day: write it as in "22:00", from '
            '"00:00" to "23:59".'
        )
    return int(match[1]) * 60 + int(match[2])


def _instant(day: date, minutes: int, zone: ZoneInfo, *, last: bool) -> float:
    """The moment at which clocks show that time on that day; the first or the last of two."""
    return instant(datetime.combine(day, time(*divmod(minutes, 60))), zone, last=last)
