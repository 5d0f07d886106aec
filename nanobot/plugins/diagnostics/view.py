"""The diagnostics view of the page."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.faces import PageView


def views() -> list[PageView]:
    """The contents of an archive, which can then be downloaded."""
    script = Path(__file__).with_name("view.js").read_text("utf-8")
    return [PageView(title="Diagnostics", script=script, icon="info", place="health")]
