"""A starter package for plugins of others."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="starter",
    summary="Writes a package with an example plugin and its tests.",
    texts=Path(__file__).parent,
    commands="nanobot.plugins.starter.commands:commands",
)
