"""The time zones of the IANA database, by their names."""

from __future__ import annotations

from difflib import get_close_matches
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

from nanobot.errors import UsageError
from nanobot.zones import zone_named


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
    zone = zone_named(name)
    # If the file system ignores case, only the list knows the right spelling.
    return zone if zone is not None and zone_named(name.swapcase()) is None else None


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


def known_zone(name: str) -> str:
    """The name of that zone as the database spells it, or UTC if there is no such zone."""
    try:
        return zone_of(name).key
    except UsageError:
        return "UTC"
