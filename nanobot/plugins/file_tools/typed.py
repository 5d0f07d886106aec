"""Whether a person typed what a call writes into a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nanobot.plugins.common.typed import Said


def is_typed(arguments: Mapping[str, Any], said: Said) -> bool:
    """Whether all words of the path and of the texts are from the message."""
    return said.has(arguments, "path", "content", "old_text", "new_text")
