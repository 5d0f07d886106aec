"""The day of a moment, by the clocks of a zone."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError


def day_of(at: float, zone: str) -> str:
    """The date of a moment (unix seconds) in that zone, in UTC if there is no such zone."""
    try:
        info = ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # "America" is a folder
        info = ZoneInfo("UTC")
    return datetime.fromtimestamp(at, info).date().isoformat()
