"""Time zones by their names in the machine's database. UTC is there without a database, too."""

from __future__ import annotations

from functools import lru_cache
from io import BytesIO
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_UTC = b"TZif" + bytes(16) + bytes.fromhex("00000000" * 4 + "00000001" + "00000004")
_UTC += bytes(6) + b"UTC\0"
"""UTC as a file of such a database (RFC 9636)."""


@lru_cache(maxsize=64)
def zone_named(name: str) -> ZoneInfo | None:
    """The zone of exactly this name; None if the database has none."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # "America" is a folder
        return _utc() if name == "UTC" else None


def zone_or_utc(name: str) -> ZoneInfo:
    """The zone of this name, or UTC."""
    return zone_named(name) or _utc()


@lru_cache(maxsize=1)
def _utc() -> ZoneInfo:
    return ZoneInfo.from_file(BytesIO(_UTC), "UTC")
