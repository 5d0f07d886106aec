"""Hours of each day, and the zone by whose clocks they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from nanobot.errors import ConfigError, UsageError
from nanobot.plugins.common.times.zones import zone_of
from nanobot.seam.installed import Interface


class DailyHours(Protocol):
    """Hours of each day, such as 22:00 to 08:00."""

    def until(self, now: float) -> float | None:
        """When the hours end (unix seconds) if that moment is within them; otherwise None."""


DAILY_HOURS: Interface[Callable[[str, str, str, str], DailyHours | None]] = Interface("daily_hours")
"""The hours from one time of day to another (`quiet_from` and `quiet_until` of a table), in a zone,
by the path of the table. None if both times are empty. Raises ConfigError that names the key."""


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
