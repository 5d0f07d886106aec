"""The audit and the policy's verdicts on the page."""

from __future__ import annotations

from pathlib import Path

from nanobot.plugins.common.faces import PageView

_FOLDER = Path(__file__).with_name("page")


def views() -> list[PageView]:
    """Which rule decides about a call, and what attackers could reach, in Settings, below the
    permanent permissions."""
    return [
        PageView(
            title="Explain a call",
            name="explain",
            folder=_FOLDER,
            place="policy",
            order=10,
            needs="policy explain",
        ),
        PageView(
            title="Security audit",
            name="exposures",
            folder=_FOLDER,
            place="policy",
            needs="security audit",
        ),
    ]
