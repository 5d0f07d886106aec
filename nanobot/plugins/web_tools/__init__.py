"""The web for the model: it searches, and reads pages."""

from __future__ import annotations

from pathlib import Path

from nanobot.plugins.common.keys.tool_settings import WebTable
from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="web_tools",
    summary="Web search, and reading web pages.",
    texts=Path(__file__).parent,
    shares=(WebTable,),
    fits="nanobot.plugins.common.addresses:fits",
    tools="nanobot.plugins.web_tools.tools:tools",
    provides={"web_tools": "nanobot.plugins.web_tools.tools:web_tools"},
    reserves=("web_search", "web_fetch"),
)
