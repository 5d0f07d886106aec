"""Skills on the page."""

from __future__ import annotations

from pathlib import Path

from nanobot.plugins.common.faces import PageView


def views() -> PageView:
    """The skills with their states, to switch them on and off, in Settings."""
    folder = Path(__file__).with_name("page")
    return PageView(
        title="Skills", name="list", folder=folder, place="skills", needs="skills list", order=0
    )
