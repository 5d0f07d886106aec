"""The reply to words that are no command."""

from __future__ import annotations

from collections.abc import Sequence

from nanobot.seam.entry_points import some_of
from nanobot.seam.installed import installed


def refusal(words: Sequence[str], hints: Sequence[str], left_out: Sequence[str]) -> list[str]:
    """The reply. `left_out`: the plugins that could not be loaded."""
    what = " ".join(word for word in words if not word.startswith("-"))
    lines = [f"No such command '{what}'.", *hints]
    if left_out:
        lines.append(
            f"A plugin that could not be loaded may bring it: {some_of(left_out)}. "
            "`nanobot plugins` says why."
        )
    return [*lines, "All commands: nanobot --help"]


def left_out() -> list[str]:
    """The names of the plugins that could not be loaded."""
    return [each.name for each in installed().left_out]
