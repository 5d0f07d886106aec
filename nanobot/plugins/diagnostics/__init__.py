"""Diagnostics: one redacted archive to attach to a report of a problem."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="diagnostics",
    summary="One redacted archive to attach to a report of a problem.",
    texts=Path(__file__).parent,
    operations="nanobot.plugins.diagnostics.operations:operations",
    commands="nanobot.plugins.diagnostics.command:commands",
    page="nanobot.plugins.diagnostics.view:views",
)
