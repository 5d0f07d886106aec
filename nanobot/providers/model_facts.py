"""What is known of models: here their abilities from the configuration; plugins know more."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache

import msgspec

from nanobot.config.settings.agent import ProviderSettings
from nanobot.ports import Clock
from nanobot.providers.base import ModelProfile, Price
from nanobot.providers.model_choice import ModelChoice
from nanobot.providers.openai_errors import ProviderFailure
from nanobot.seam.installed import Interface, provided


class ModelFacts:
    """Abilities and prices of models. This class makes no requests, reads no files and knows no
    prices."""

    def __init__(self, providers: Mapping[str, ProviderSettings]) -> None:
        self._providers = providers

    async def ask(self, choice: ModelChoice) -> None:
        """Learn the capabilities of a model that nothing describes, before its first call."""

    async def price(self, choice: ModelChoice) -> Price | None:
        """The price of a model; None if it is unknown, which does not mean that it is free."""
        return None

    def profile(self, provider: str, model: str) -> ModelProfile:
        """A model's capabilities, from what is known already."""
        settings = self._providers.get(provider)
        profile = profile_for(provider, model)
        return profile if settings is None else configured(profile, settings)


@lru_cache(maxsize=256)  # several times per turn, for a few models
def profile_for(provider: str, model: str) -> ModelProfile:
    """A model's capabilities according to the table of families; for an unknown model 128,000
    tokens, tools, no images."""
    known = provided(FAMILIES)
    profile = None if known is None else known(provider, model)
    return profile or ModelProfile(name=model, provider=provider)


def configured(profile: ModelProfile, settings: ProviderSettings) -> ModelProfile:
    """The profile, overridden by the configuration."""
    model = settings.models.get(profile.name)
    if model is None:
        return profile
    return msgspec.structs.replace(
        profile,
        context_tokens=model.context or profile.context_tokens,
        tools=profile.tools if model.tools is None else model.tools,
        images=profile.images if model.images is None else model.images,
    )


# What the plugin `models` provides.

FAMILIES: Interface[Callable[[str, str], ModelProfile | None]] = Interface("families")
"""A model's capabilities by the family that its name shows; None if it shows none."""

MODEL_FACTS: Interface[Callable[[Mapping[str, ProviderSettings], Clock], ModelFacts]] = Interface(
    "model_facts"
)
"""Facts from more sources than the configuration."""

MODEL_PRICES: Interface[Callable[[Mapping[str, ProviderSettings]], ModelFacts]] = Interface(
    "model_prices"
)
"""The prices of the configuration, while the plugin is off."""

SIMILAR_MODELS: Interface[Callable[..., Awaitable[ProviderFailure]]] = Interface("similar_models")
"""Adds similar names to a failure; see `nanobot.plugins.models.similar.with_similar`."""
