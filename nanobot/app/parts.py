"""Builds parts of a gateway from its settings."""

from __future__ import annotations

from collections.abc import Sequence

from loguru import logger

from nanobot.agent.prompt import PromptAddition, PromptBuilder, PromptParts
from nanobot.boundary import boundary
from nanobot.config.loader import Config
from nanobot.errors import NanobotError
from nanobot.providers.registry import ProviderRegistry


def prompt_of(config: Config, additions: Sequence[PromptAddition]) -> PromptBuilder:
    """The prompt builder, with the assistant's identity and what plugins add."""
    agent = config.agent
    limits = {name: most for each in additions for name, most in each.limits.items()}
    parts = PromptParts(config.workspace, name=agent.name, persona=agent.persona, limits=limits)
    return PromptBuilder(config.workspace, parts, additions)


async def warm_up(registry: ProviderRegistry) -> None:
    """Load the model before the first message; errors are reported with that message."""
    with boundary("the model"):
        try:
            await registry.warm_up()
        except NanobotError as error:
            logger.warning("no model yet: {}", error)
