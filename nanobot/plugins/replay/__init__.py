"""Replay: runs recorded conversations again and compares them byte for byte."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="replay",
    summary="Replay recorded runs and compare every request and step.",
    texts=Path(__file__).parent,
    operations="nanobot.plugins.replay.commands:operations",
)
