"""How long a model thinks before it answers, as one word. Each client translates it for its API.

https://platform.openai.com/docs/api-reference/chat/create (`reasoning_effort`) and
https://openrouter.ai/docs/use-cases/reasoning-tokens.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

Effort: TypeAlias = Literal["default", "none", "low", "medium", "high"]
"""`default` sends nothing, so the provider chooses. `none` disables thinking."""


def within(effort: Effort, *, always_thinks: bool) -> Effort:
    """The effort that a model accepts: for a model that always thinks, `none` becomes `low`. It
    would reject `none`, and without a value it would think as much as it likes.
    """
    return "low" if effort == "none" and always_thinks else effort
