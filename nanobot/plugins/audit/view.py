"""The audit on the page."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.faces import PageView


def views() -> PageView:
    """What attackers could reach, in Settings, below the rules."""
    return PageView(
        title="Security audit",
        name="exposures",
        folder=Path(__file__).with_name("page"),
        place="policy",
        needs="security audit",
    )
