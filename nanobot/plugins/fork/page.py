"""Forks on the page: a button at each step of a run, and both runs side by side."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.faces import PageView


def views() -> list[PageView]:
    """The form at a step, and the comparison in the view of a fork's run."""
    return [
        PageView(title="Fork", name="step", script=_script("step"), place="step", needs=_FORK),
        PageView(title="Fork", name="run", script=_script("run"), place="run", needs=_COMPARE),
    ]


_FORK, _COMPARE = "runs fork", "runs compare"


def _script(name: str) -> str:
    return (Path(__file__).parent / f"{name}.js").read_text("utf-8")
