"""The evals view of the page."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.faces import PageView


def views() -> list[PageView]:
    """Cases with their last results, and rejected answers that can become cases."""
    script = Path(__file__).with_name("view.js").read_text("utf-8")
    return [PageView(title="Evals", script=script, icon="check")]
