"""The evals view of the page."""

from __future__ import annotations

from pathlib import Path

from nanobot.plugins.common.faces import PageView


def views() -> list[PageView]:
    """Cases with their last results, and rejected answers that can become cases."""
    return [PageView(title="Evals", folder=Path(__file__).with_name("page"), icon="check")]
