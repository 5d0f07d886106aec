"""Models of Google, by Gemini's own API."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="gemini",
    summary="Models over Google's Gemini API.",
    texts=Path(__file__).parent,
    providers={"gemini": "nanobot.plugins.gemini.provider:GeminiProvider.opened"},
)
