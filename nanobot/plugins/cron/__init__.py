"""Scheduled jobs: the assistant does things at a time, or regularly."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="cron",
    summary="Scheduled jobs.",
    requires=("jobs",),
    texts=Path(__file__).parent,
    objects="nanobot.plugins.cron.service:objects",
    operations="nanobot.plugins.cron.operations:operations",
    groups={"cron": "Scheduled jobs."},
    tools="nanobot.plugins.cron.service:tools",
    reserves=("cron",),
    page="nanobot.plugins.cron.view:views",
    checks="nanobot.plugins.cron.checks:checks",
    provides={"scheduling": "nanobot.plugins.cron.service:scheduling"},
)
