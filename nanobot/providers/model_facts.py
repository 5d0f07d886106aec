"""What is known of models: here from the configuration; the plugin `models` knows more."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from nanobot.config.settings.agent import PriceSettings, ProviderSettings
from nanobot.ports import Clock
from nanobot.providers.base import ModelProfile, Price
from nanobot.providers.known_providers import LOCAL_PROVIDERS
from nanobot.providers.model_choice import ModelChoice
from nanobot.providers.openai_errors import ProviderFailure
from nanobot.seam.installed import Interface, provided
from nanobot.system import is_loopback

FREE = Price(prompt=0.0, completion=0.0)
_MILLION = 1_000_000


class ModelFacts:
    """Prices and capabilities of models. This class makes no requests and reads no files."""

    def __init__(self, providers: Mapping[str, ProviderSettings]) -> None:
        self._providers = providers

    async def ask(self, choice: ModelChoice) -> None:
        """Learn the capabilities of a model that nothing describes, before its first call."""

    async def find_price(self, choice: ModelChoice) -> Price | None:
        """The price of a model; None if it is unknown, which does not mean that it is free."""
        price = self.price_of(choice.provider_name, choice.model)
        local = choice.provider_name in LOCAL_PROVIDERS and is_loopback(choice.api_base)
        return FREE if price is None and local else price

    def price_of(self, provider: str, model: str) -> Price | None:
        """The price from what is known already."""
        row = _price_set(self._providers.get(provider), model)
        if row is None:
            return None
        return Price(
            prompt=row.prompt / _MILLION,
            completion=row.completion / _MILLION,
            cached=_each(row.cached),
            cache_write=_each(row.cache_write),
        )

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


def _price_set(settings: ProviderSettings | None, model: str) -> PriceSettings | None:
    if settings is None:
        return None
    row = settings.models.get(model)
    return settings.prices.get(model) if row is None or row.price is None else row.price


def _each(million: float | None) -> float | None:
    return None if million is None else million / _MILLION


# What the plugin `models` provides.

FAMILIES: Interface[Callable[[str, str], ModelProfile | None]] = Interface("families")
"""A model's capabilities by the family that its name shows; None if it shows none."""

MODEL_FACTS: Interface[Callable[[Mapping[str, ProviderSettings], Clock], ModelFacts]] = Interface(
    "model_facts"
)
"""Facts from more sources than the configuration."""

MODEL_CHECK: Interface[Callable[..., Awaitable[None]]] = Interface("model_check")
"""Checks that a label's model exists; see `nanobot.plugins.models.checking.check_model`."""

SIMILAR_MODELS: Interface[Callable[..., ProviderFailure]] = Interface("similar_models")
"""Adds similar names to a failure; see `nanobot.plugins.models.similar.with_similar`."""

LISTED_MODELS: Interface[Callable[[Any, str, float], Awaitable[list[str] | None]]] = Interface(
    "listed_models"
)
"""The models that an endpoint lists; see `nanobot.plugins.common.models.model_lists.listed_at`."""
