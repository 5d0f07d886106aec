"""Models of Anthropic, by Anthropic's own API."""

from __future__ import annotations

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="anthropic",
    summary="Models over Anthropic's Messages API.",
    providers={"anthropic": "nanobot.plugins.anthropic.provider:AnthropicProvider.opened"},
)
