"""Auto: finds a model where the configuration names none."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="auto",
    summary="The model that answers while the configuration names none.",
    texts=Path(__file__).parent,
    provides={"auto_model": "nanobot.plugins.auto.finding:find"},
)
