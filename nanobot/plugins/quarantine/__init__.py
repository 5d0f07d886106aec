"""Quarantine: what people can do about rows that could not be read."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="quarantine",
    summary="Notices about rows that could not be read, and their repair.",
    texts=Path(__file__).parent,
    objects="nanobot.plugins.quarantine.service:objects",
    operations="nanobot.plugins.quarantine.operations:operations",
    commands="nanobot.plugins.quarantine.commands:commands",
    groups={"db quarantine": "Rows that could not be read: list, restore."},
    checks="nanobot.plugins.quarantine.checks:checks",
)
