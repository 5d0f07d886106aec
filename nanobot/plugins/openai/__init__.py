"""OpenAI's API over HTTP: programs written for it use the assistant as a model."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="openai",
    summary="The API of OpenAI, for programs that are clients of it.",
    requires=("http",),
    texts=Path(__file__).parent,
    routes="nanobot.plugins.openai.routes:routes",
    paths=("/v1/",),
)
