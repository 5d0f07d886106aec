"""How long Claude thinks before it answers, in fields of POST /v1/messages.

https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking and .../extended-thinking
"""

from __future__ import annotations

from typing import Any

from nanobot.plugins.common.models.model_versions import version_in
from nanobot.providers.base import Effort
from nanobot.text import pattern

_CLAUDE = pattern(r"claude-[a-z]+-(\d+)(?:[-.](\d{1,2}))?(?:\D|$)")
_ADAPTIVE = (4, 6)
"""From Claude 4.6 on, the model itself decides how much to think; 4.7 rejects a fixed budget."""
_LEAST_BUDGET = 1_024
_SHARE = {"low": 0.25, "medium": 0.5, "high": 0.75}
"""Thoughts count against `max_tokens`, so they get a share of it."""


def thinking_of(effort: Effort, model: str, max_tokens: int) -> dict[str, Any]:
    """The fields. Models before 4.6 get a budget in tokens; if `max_tokens` leaves no room for the
    smallest one, nothing is sent.
    """
    if effort == "default":
        return {}
    if effort == "none":
        return {"thinking": {"type": "disabled"}}
    if version_in(_CLAUDE, model) >= _ADAPTIVE:
        return {"thinking": {"type": "adaptive"}, "output_config": {"effort": effort}}
    budget = max(int(max_tokens * _SHARE[effort]), _LEAST_BUDGET)
    if budget >= max_tokens:
        return {}
    return {"thinking": {"type": "enabled", "budget_tokens": budget}}
