"""How long a model thinks before it answers, as one word. Each client translates it for its API.

https://platform.openai.com/docs/api-reference/chat/create (`reasoning_effort`) and
https://openrouter.ai/docs/use-cases/reasoning-tokens.
"""

from __future__ import annotations

import re
from typing import Any, Literal, TypeAlias

Effort: TypeAlias = Literal["default", "none", "low", "medium", "high"]
"""`default` sends nothing, so the provider chooses. `none` disables thinking."""


def within(effort: Effort, *, always_thinks: bool) -> Effort:
    """The effort that a model accepts: for a model that always thinks, `none` becomes `low`. It
    would reject `none`, and without a value it would think as much as it likes.
    """
    return "low" if effort == "none" and always_thinks else effort


def for_openai(effort: Effort, *, openrouter: bool = False) -> dict[str, Any]:
    """Fields of POST /chat/completions."""
    if effort == "default":
        return {}
    return {"reasoning": {"effort": effort}} if openrouter else {"reasoning_effort": effort}


def version_in(pattern: re.Pattern[str], model: str) -> tuple[int, int]:
    """The version in a model's name. A name without a version counts as the newest."""
    found = pattern.search(model.lower())
    return (int(found[1]), int(found[2] or 0)) if found else (99, 0)
