"""The diagnostics view of the page."""

from __future__ import annotations

from pathlib import Path

from nanobot.plugins.common.faces import PageView


def views() -> list[PageView]:
    """The contents of an archive, which can then be downloaded."""
    folder = Path(__file__).with_name("page")
    return [PageView(title="Diagnostics", folder=folder, place="health")]
