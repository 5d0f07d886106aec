"""What the stages share: what a run is about, and which models auxiliary calls may go to."""

from __future__ import annotations

from loguru import logger

from nanobot.agent.active_run import ActiveRun
from nanobot.errors import ConfigError, ModelError
from nanobot.providers.base import LLMProvider, ModelProfile, Models
from nanobot.session.entries import ModelCallEntry, ReplyEntry


def acts(active: ActiveRun) -> bool:
    """Whether the run acts already."""
    return any(isinstance(body, ModelCallEntry | ReplyEntry) for body in active.bodies)


def question(active: ActiveRun, limit: int) -> str:
    """What the run is to answer, at most so many characters."""
    return "\n".join(message.text for message in active.messages if message.text)[:limit]


class AuxiliaryModels:
    """The models for calls beside the conversation. Small ones are spared them, which the log says
    once for each."""

    def __init__(self, models: Models) -> None:
        self._models = models
        self._warned: set[str] = set()

    async def profile(self, label: str | None) -> ModelProfile | None:
        """What the model can do; None if there is none, which the run will say itself."""
        try:
            return (await self._models.pick(label))[1]
        except (ModelError, ConfigError):
            return None

    async def pick(self, label: str | None, what: str) -> tuple[LLMProvider, ModelProfile] | None:
        """The model for a helper call; None if it is too small. Raises ModelError, ConfigError."""
        provider, profile = await self._models.pick(label)
        return (provider, profile) if self.able(profile, what) else None

    def able(self, profile: ModelProfile, what: str) -> bool:
        """Whether the model is up to it."""
        if not profile.helper_calls and profile.label not in self._warned:
            self._warned.add(profile.label)
            logger.info("{} is off: {} is too small for it", what, profile.label)
        return profile.helper_calls
