"""Limits and quiet hours for unrequested messages."""

from __future__ import annotations

from pathlib import Path

from nanobot.plugins.quiet.settings import QuietSettings
from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="quiet",
    summary="Limits notifications.",
    requires=("jobs",),
    texts=Path(__file__).parent,
    settings=QuietSettings,
    fits="nanobot.plugins.quiet.service:fits",
    tables=("nanobot.plugins.quiet.tables",),
    store_hooks="nanobot.plugins.quiet.store:hook",
    provides={"daily_hours": "nanobot.plugins.quiet.daily:hours_of"},
)
