"""The servers on the page."""

from __future__ import annotations

from pathlib import Path

from nanobot.plugins.common.faces import PageView


def views() -> list[PageView]:
    """The servers with their states, to switch them on and off."""
    folder = Path(__file__).with_name("page")
    return [PageView(title="MCP servers", name="servers", folder=folder, place="skills")]
