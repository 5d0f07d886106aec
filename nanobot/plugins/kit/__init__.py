"""The testing kit: what authors of channels, tools, providers, triggers and plugins test with."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="kit",
    summary="Fakes and checks for the tests of authors of extensions.",
    texts=Path(__file__).parent,
    provides={"grades": "nanobot.plugins.kit.manifests:grades_of"},
)
