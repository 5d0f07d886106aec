"""Feedback: people rate answers."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="feedback",
    summary="People rate answers, with thumbs or a command.",
    texts=Path(__file__).parent,
    operations="nanobot.plugins.feedback.operations:operations",
    provides={"latest_ratings": "nanobot.plugins.feedback.operations:latest_ratings"},
)
