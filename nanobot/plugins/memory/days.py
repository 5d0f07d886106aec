"""The calendar day of a moment in a time zone."""

from __future__ import annotations

from datetime import datetime

from nanobot.zones import zone_or_utc


def day_of(at: float, zone: str) -> str:
    """The date of a moment (unix seconds) in that zone, or in UTC if the zone does not exist."""
    return datetime.fromtimestamp(at, zone_or_utc(zone)).date().isoformat()
