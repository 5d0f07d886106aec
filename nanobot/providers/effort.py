"""How long a model thinks before it answers: translates one word into the parameters of each API.

https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking and .../extended-thinking,
https://ai.google.dev/gemini-api/docs/thinking,
https://platform.openai.com/docs/api-reference/chat/create (`reasoning_effort`) and
https://openrouter.ai/docs/use-cases/reasoning-tokens.
"""

from __future__ import annotations

import re
from typing import Any, Literal, TypeAlias

from nanobot.text import pattern

Effort: TypeAlias = Literal["default", "none", "low", "medium", "high"]
"""`default` sends nothing, so the provider chooses. `none` disables thinking."""

_CLAUDE = pattern(r"claude-[a-z]+-(\d+)(?:[-.](\d{1,2}))?(?:\D|$)")
_GEMINI = pattern(r"gemini-(\d+)(?:\.(\d+))?")
_ADAPTIVE = (4, 6)
"""From Claude 4.6 on, the model itself decides how much to think; 4.7 rejects a fixed budget."""
_LEAST_BUDGET = 1_024
_CLAUDE_SHARE = {"low": 0.25, "medium": 0.5, "high": 0.75}
"""Thoughts count against `max_tokens`, so they get a share of it."""
_LEAST_OF_PRO = 128
_GEMINI_BUDGET = {"none": 0, "low": 1_024, "medium": 8_192, "high": 24_576}


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


def for_anthropic(effort: Effort, model: str, max_tokens: int) -> dict[str, Any]:
    """Fields of POST /v1/messages. Models before 4.6 get a budget in tokens; if `max_tokens` leaves
    no room for the smallest one, nothing is sent.
    """
    if effort == "default":
        return {}
    if effort == "none":
        return {"thinking": {"type": "disabled"}}
    if _version(_CLAUDE, model) >= _ADAPTIVE:
        return {"thinking": {"type": "adaptive"}, "output_config": {"effort": effort}}
    budget = max(int(max_tokens * _CLAUDE_SHARE[effort]), _LEAST_BUDGET)
    if budget >= max_tokens:
        return {}
    return {"thinking": {"type": "enabled", "budget_tokens": budget}}


def for_gemini(effort: Effort, model: str) -> dict[str, Any]:
    """Fields of `generationConfig`. Gemini 2.5 accepts a budget in tokens, later models a level;
    earlier ones do not think.
    """
    version = _version(_GEMINI, model)
    if effort == "default" or version < (2, 5):
        return {}
    pro = "pro" in model.lower()  # these always think
    if version < (3, 0):
        budget = _LEAST_OF_PRO if pro and effort == "none" else _GEMINI_BUDGET[effort]
        return {"thinkingConfig": {"thinkingBudget": budget}}
    least = "low" if pro else "minimal"
    return {"thinkingConfig": {"thinkingLevel": least if effort == "none" else effort}}


def _version(pattern: re.Pattern[str], model: str) -> tuple[int, int]:
    """The version in a model's name. A name without a version counts as the newest."""
    found = pattern.search(model.lower())
    return (int(found[1]), int(found[2] or 0)) if found else (99, 0)
