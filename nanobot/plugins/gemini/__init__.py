"""Models of Google, by Gemini's own API."""

from __future__ import annotations

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="gemini",
    summary="Models over Google's Gemini API.",
    providers={"gemini": "nanobot.plugins.gemini.provider:GeminiProvider.opened"},
)
