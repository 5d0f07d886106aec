"""Switches: which plugins there are, switching them on and off, and the restart that does it."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="switches",
    summary="Switch plugins on and off, and restart the gateway.",
    texts=Path(__file__).parent,
    operations="nanobot.plugins.switches.operations:operations",
    groups={"plugins": "Plugins: what nanobot can do, one capability each."},
)
