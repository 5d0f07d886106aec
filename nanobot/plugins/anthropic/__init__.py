"""Models of Anthropic, by Anthropic's own API."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="anthropic",
    summary="Models over Anthropic's Messages API.",
    texts=Path(__file__).parent,
    providers={"anthropic": "nanobot.plugins.anthropic.provider:AnthropicProvider.opened"},
)
