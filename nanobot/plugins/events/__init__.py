"""Machine events: full disks, dead services, changed files and log lines."""

from __future__ import annotations

from pathlib import Path

from nanobot.plugins.events.settings import EventsSettings
from nanobot.seam.plugin import Plugin


def _idle(settings: EventsSettings) -> str:
    return "" if settings.enabled else "events.enabled is false."


PLUGIN = Plugin(
    name="events",
    summary="Watches this machine.",
    requires=("jobs",),
    texts=Path(__file__).parent,
    settings=EventsSettings,
    idle=_idle,
    fits="nanobot.plugins.events.service:fits",
    triggers="nanobot.plugins.events.service:triggers",
    checks="nanobot.plugins.events.checks:checks",
)
