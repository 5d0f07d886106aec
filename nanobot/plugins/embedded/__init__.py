"""The embedded model: a small model that answers without a key or a network."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="embedded",
    summary="The small included model, which answers without a key or a network.",
    texts=Path(__file__).parent,
    providers={"embedded": "nanobot.plugins.embedded.provider:open_provider"},
    provides={"embedded_installed": "nanobot.plugins.embedded.weights:is_installed"},
)
