"""Models of providers with APIs of their own, through litellm."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="litellm",
    summary="Models of providers that only litellm can call, such as Bedrock and Vertex.",
    texts=Path(__file__).parent,
    providers={"litellm": "nanobot.plugins.litellm.provider:open_provider"},
)
