"""The usage on the page."""

from __future__ import annotations

from pathlib import Path

from nanobot.plugins.common.faces import PageView


def views() -> list[PageView]:
    """What was used, by day, model, chat, person and job, and what is left."""
    return [
        PageView(
            title="Usage",
            name="usage",
            folder=Path(__file__).with_name("page"),
            icon="usage",
            needs="usage",
            order=50,
            whole=True,
        )
    ]
