"""Pairings on the page."""

from __future__ import annotations

from pathlib import Path

from nanobot.plugins.common.faces import PageView


def views() -> PageView:
    """The people who have access or request it, in the view Channels."""
    folder = Path(__file__).with_name("page")
    return PageView(
        title="People", name="people", folder=folder, place="channels", needs="pair list"
    )
