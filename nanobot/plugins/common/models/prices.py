"""Prices of models by the configuration, whether the plugin `models` is on or off."""

from __future__ import annotations

from collections.abc import Mapping

from loguru import logger

from nanobot.config.settings.agent import PriceSettings, ProviderSettings
from nanobot.plugins.common.models.known_providers import LOCAL_PROVIDERS
from nanobot.providers.base import Price
from nanobot.providers.model_choice import EMBEDDED, ModelChoice
from nanobot.providers.model_facts import ModelFacts
from nanobot.system import is_loopback

FREE = Price(prompt=0.0, completion=0.0)
_MILLION = 1_000_000


class PricedModels(ModelFacts):
    """Adds the prices of the configuration. Models on this machine cost nothing."""

    def __init__(self, providers: Mapping[str, ProviderSettings]) -> None:
        super().__init__(providers)
        self._prices: dict[tuple[str, str], Price | None] = {}

    async def price(self, choice: ModelChoice) -> Price | None:
        """The price of a model, looked up once. If it is unknown, that is logged."""
        provider, model = name = choice.provider_name, choice.model
        if name not in self._prices:
            price = self._prices[name] = await self.find_price(choice)
            if price is None:
                key = f'providers.{provider}.models."{model}".price'
                logger.info(
                    "the price of {}/{} is unknown; to know costs set {}", provider, model, key
                )
        return self._prices[name]

    async def find_price(self, choice: ModelChoice) -> Price | None:
        """The price from all sources that this class knows."""
        price = self.price_of(choice.provider_name, choice.model)
        local = choice.provider_name in LOCAL_PROVIDERS and is_loopback(choice.api_base)
        return FREE if price is None and (local or choice.client == EMBEDDED) else price

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


def _price_set(settings: ProviderSettings | None, model: str) -> PriceSettings | None:
    if settings is None:
        return None
    row = settings.models.get(model)
    return settings.prices.get(model) if row is None or row.price is None else row.price


def _each(million: float | None) -> float | None:
    return None if million is None else million / _MILLION
