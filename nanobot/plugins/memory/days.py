"""The calendar day of a moment in a time zone."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError


def day_of(at: float, zone: str) -> str:
    """The date of a moment (unix seconds) in that zone, or in UTC if the zone does not exist."""
    try:
        info = ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # "America" is a folder, not a zone
        info = ZoneInfo("UTC")
    return datetime.fromtimestamp(at, info).date().isoformat()
