"""The time zone to propose for a machine whose own zone says nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from nanobot.system import local_zone

_TABLE = Path("/usr/share/zoneinfo/zone.tab")
_UTC = frozenset({"UTC", "Etc/UTC", "Etc/UCT", "Etc/GMT", "GMT", "Universal", "Zulu", "Etc/Zulu"})


def says_nothing(zone: str) -> bool:
    """Whether a machine's zone is the default, which says nothing about its location."""
    return zone in _UTC


def guessed(environ: Mapping[str, str]) -> str:
    """The zone to propose: the machine's or, if that is UTC, the first zone of the country in the
    environment's language setting."""
    zone = local_zone(environ)
    if not says_nothing(zone):
        return zone
    named = (environ.get(name, "") for name in ("LC_ALL", "LC_TIME", "LANG"))
    countries = (re.match(r"[a-z]{2,3}_([A-Z]{2})", name) for name in named)
    country = next((found[1] for found in countries if found), "")
    return (_zones().get(country) if country else None) or zone


def _zones() -> dict[str, str]:
    """The first zone of each country, by its code."""
    zones: dict[str, str] = {}
    for line in _table().splitlines():
        country, _, rest = line.partition("\t")
        if not line.startswith("#") and len(rest.split("\t")) > 1:
            zones.setdefault(country, rest.split("\t")[1])
    return zones


def _table() -> str:
    try:
        return _TABLE.read_text("utf-8")
    except OSError:
        pass
    try:
        return resources.files("tzdata.zoneinfo").joinpath("zone.tab").read_text("utf-8")
    except (ModuleNotFoundError, OSError):
        return ""
