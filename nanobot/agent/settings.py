"""Settings of runs."""

from __future__ import annotations

import msgspec

from nanobot.agent import step
from nanobot.providers.base import Effort


class RunSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of runs: the limits, and the parameters of every model call."""

    limits: step.StepLimits = step.StepLimits()
    temperature: float = 0.7
    max_tokens: int = 4096
    effort: Effort = "default"
    max_history: int = 200
    steer: bool = True
    zone: str = "UTC"
    fallback_models: tuple[str, ...] = ()
