"""The servers on the page."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.faces import PageView


def views() -> list[PageView]:
    """The servers with their states, to switch them on and off."""
    script = Path(__file__).with_name("view.js").read_text("utf-8")
    return [PageView(title="MCP servers", script=script, place="skills")]
