"""The time zone of a gateway: the configured one, else that of its machine."""

from __future__ import annotations

from collections.abc import Mapping

from nanobot.config.settings.agent import AgentSettings
from nanobot.system import local_zone
from nanobot.zones import zone_or_utc


def zone_of_home(settings: AgentSettings, environ: Mapping[str, str]) -> str:
    """`agent.zone`, or the machine's zone."""
    return settings.zone or local_zone(environ)


def shown_zone(name: str) -> str:
    """The zone whose clocks people see: that one, or UTC if the database of zones has none of that
    name ("CET-1CEST")."""
    return zone_or_utc(name).key
