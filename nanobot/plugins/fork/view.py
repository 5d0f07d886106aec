"""Forks on the page: a button at each step of a run, and both runs side by side."""

from __future__ import annotations

from pathlib import Path

from nanobot.plugins.common.faces import PageView


def views() -> list[PageView]:
    """The form at a step, and the comparison in the view of a fork's run."""
    folder = Path(__file__).with_name("page")
    return [
        PageView(title="Fork", name="step", folder=folder, place="step", needs="runs fork"),
        PageView(title="Fork", name="run", folder=folder, place="run", needs="runs compare"),
    ]
