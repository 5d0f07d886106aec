"""How runs are made, and where they find their models."""

from __future__ import annotations

from typing import Protocol

import msgspec

from nanobot.agent import step
from nanobot.providers.base import LLMProvider, ModelProfile


class RunSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How runs are made: the limits, and what every model call is given."""

    limits: step.StepLimits = step.StepLimits()
    temperature: float = 0.7
    max_tokens: int = 4096
    max_history: int = 200
    steer: bool = True
    zone: str = "UTC"
    fallback_models: tuple[str, ...] = ()


class Models(Protocol):
    """Where a run finds the model it is to ask."""

    async def pick(self, label: str | None) -> tuple[LLMProvider, ModelProfile]:
        """The model of that label, or the configured one. Raises ModelError or ConfigError."""
        ...
