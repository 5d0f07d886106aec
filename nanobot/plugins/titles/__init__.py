"""Titles of conversations, given by a model."""

from __future__ import annotations

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="titles",
    summary="Titles of conversations, given by the model.",
    start="nanobot.plugins.titles.service:start",
)
