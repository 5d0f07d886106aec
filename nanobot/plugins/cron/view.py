"""The schedule on the page."""

from __future__ import annotations

from pathlib import Path

from nanobot.plugins.common.faces import PageView


def views() -> list[PageView]:
    """The jobs, the coming week, and a form for new ones."""
    return [
        PageView(
            title="Schedule",
            name="schedule",
            folder=Path(__file__).with_name("page"),
            icon="schedule",
            needs="cron list",
            order=20,
            whole=True,
        )
    ]
