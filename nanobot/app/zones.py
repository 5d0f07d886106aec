"""The time zone of a gateway: the configured one, else that of its machine."""

from __future__ import annotations

from collections.abc import Mapping

from nanobot.config.settings.agent import AgentSettings
from nanobot.system import local_zone


def zone_of_home(settings: AgentSettings, environ: Mapping[str, str]) -> str:
    """`agent.zone`, or the machine's zone."""
    return settings.zone or local_zone(environ)
