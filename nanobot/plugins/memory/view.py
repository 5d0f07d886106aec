"""Memories on the page."""

from __future__ import annotations

from pathlib import Path

from nanobot.plugins.common.faces import PageView


def views() -> list[PageView]:
    """The memories with their sources, in the view Memory."""
    folder = Path(__file__).with_name("page")
    return [
        PageView(
            title="Memories", name="memories", folder=folder, place="memory", needs="memory list"
        )
    ]
