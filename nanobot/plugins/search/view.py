"""Search on the page: messages among the places in "Go to"."""

from __future__ import annotations

from pathlib import Path

from nanobot.plugins.common.faces import PageView


def views() -> PageView:
    """The script that finds messages."""
    script = (Path(__file__).parent / "page.js").read_text("utf-8")
    return PageView(title="Search", script=script, place="palette", needs="search")
