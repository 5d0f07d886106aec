"""Maintenance of the store: backups, checks and vacuums, by the command line."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="maintenance",
    summary="Backups of the store, and commands that restore, check and vacuum it.",
    texts=Path(__file__).parent,
    commands="nanobot.plugins.maintenance.commands:commands",
    groups={"db": "The store: move it, back it up, restore, check and vacuum it."},
)
