"""Checks the configured quiet hours."""

from __future__ import annotations

from nanobot.plugins.quiet.hours import QuietHours
from nanobot.plugins.quiet.settings import QuietSettings
from nanobot.system import Zone


def fits(settings: QuietSettings, zone: Zone) -> None:
    """Raises ConfigError for invalid hours and zones."""
    QuietHours(settings, zone)
