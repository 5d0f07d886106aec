"""The models for auxiliary calls."""

from __future__ import annotations

from loguru import logger

from nanobot.errors import ConfigError, ModelError
from nanobot.providers.base import LLMProvider, ModelProfile, Models


class AuxiliaryModels:
    """The models for auxiliary calls. Small models get none, which is logged once per model."""

    def __init__(self, models: Models) -> None:
        self._models = models
        self._warned: set[str] = set()

    async def profile(self, label: str | None) -> ModelProfile | None:
        """The model's profile; None if there is no model, which the run itself reports."""
        try:
            return (await self._models.pick(label))[1]
        except (ModelError, ConfigError):
            return None

    async def pick(self, label: str | None, what: str) -> tuple[LLMProvider, ModelProfile] | None:
        """The model for an auxiliary call; None if too small. Raises ModelError, ConfigError."""
        provider, profile = await self._models.pick(label)
        return (provider, profile) if self.able(profile, what) else None

    def able(self, profile: ModelProfile, what: str) -> bool:
        """Whether the model is large enough."""
        if not profile.helper_calls and profile.label not in self._warned:
            self._warned.add(profile.label)
            logger.info("{} is off: {} is too small for it", what, profile.label)
        return profile.helper_calls
