"""How long Gemini thinks before it answers, in fields of `generationConfig`.

https://ai.google.dev/gemini-api/docs/thinking
"""

from __future__ import annotations

from typing import Any

from nanobot.plugins.common.models.model_versions import version_in
from nanobot.providers.base import Effort
from nanobot.text import pattern

_GEMINI = pattern(r"gemini-(\d+)(?:\.(\d+))?")
_LEAST_OF_PRO = 128
_BUDGET = {"none": 0, "low": 1_024, "medium": 8_192, "high": 24_576}


def thinking_of(effort: Effort, model: str) -> dict[str, Any]:
    """The fields. Gemini 2.5 accepts a budget in tokens, later models a level; earlier ones do not
    think.
    """
    version = version_in(_GEMINI, model)
    if effort == "default" or version < (2, 5):
        return {}
    pro = "pro" in model.lower()  # these always think
    if version < (3, 0):
        budget = _LEAST_OF_PRO if pro and effort == "none" else _BUDGET[effort]
        return {"thinkingConfig": {"thinkingBudget": budget}}
    least = "low" if pro else "minimal"
    return {"thinkingConfig": {"thinkingLevel": least if effort == "none" else effort}}
