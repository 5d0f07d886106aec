"""The available models: the configured default, chosen once, and any other by its label."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable

from loguru import logger
from msgspec.structs import replace

from nanobot.config.settings.agent import ProviderSettings
from nanobot.ports import Clock
from nanobot.providers.base import LLMProvider, ModelProfile, Price
from nanobot.providers.clients import Clients
from nanobot.providers.model_choice import (
    AGENT_MODEL,
    AUTO_MODEL,
    EMBEDDED,
    ModelChoice,
    choose,
    is_local,
)
from nanobot.providers.model_facts import FREE, MODEL_CHECK, MODEL_FACTS, ModelFacts
from nanobot.providers.one_provider import OneProvider
from nanobot.providers.opening import Opening
from nanobot.providers.retrying import CallPolicy


@runtime_checkable
class WarmingUp(Protocol):
    """A provider that needs preparation before its first answer."""

    async def warm_up(self) -> None:
        """Prepare now. Raises ModelError."""


class ProviderRegistry:
    """Creates each provider once, when it is first needed. See Models. `brought` are the clients
    that open providers (None: all installed ones), or a program's provider, which answers for every
    model.
    """

    def __init__(
        self,
        model: str,
        providers: Mapping[str, ProviderSettings],
        environ: Mapping[str, str],
        home: Path,
        clock: Clock,
        brought: Clients | OneProvider | None = None,
    ) -> None:
        self._environ = environ
        self._home = home
        self._clock = clock
        self._clients = brought if isinstance(brought, Clients) else Clients()
        self._only = brought if isinstance(brought, OneProvider) else None
        self._choosing = asyncio.Lock()
        self._retired: list[dict[str, LLMProvider]] = []
        self._begin(model, providers)

    def _begin(self, model: str, providers: Mapping[str, ProviderSettings]) -> None:
        self._model = model
        self._settings = providers
        self._providers: dict[str, LLMProvider] = {}
        self._choices: dict[str, ModelChoice] = {}
        more = self._clients.provided(MODEL_FACTS)
        self._facts = ModelFacts(providers) if more is None else more(providers, self._clock)
        self._prices: dict[str, Price | None] = {}

    def configure(self, model: str, providers: Mapping[str, ProviderSettings]) -> None:
        """Change the default model and the settings of providers from now on. Calls in progress are
        not affected.
        """
        if providers == self._settings:
            self._model = model
            # The choice of `auto` is made again.
            self._choices = {}
        else:
            self._retired.append(self._providers)
            self._begin(model, providers)

    async def choice(self, label: str | None = None) -> ModelChoice:
        """The model that a label (None: the configuration) refers to; `why` is a line for people.

        Raises ConfigError that names the key and the remedy.
        """
        key = "the model" if label else AGENT_MODEL
        label = label or self._model
        choices, settings = self._choices, self._settings
        choice = choices.get(label)
        if choice is not None:
            return choice
        async with self._choosing:
            if label not in choices:
                auto = self._clients.provided(AUTO_MODEL)
                choice = await choose(
                    label, settings, self._environ, key=key, off=self._clients.off, auto=auto
                )
                logger.info("{}", choice.why)
                choices[label] = choice
        return choices[label]

    async def check(self, label: str) -> None:
        """Raises ConfigError or UsageError for a label that does not exist or cannot be checked, if
        a plugin checks labels."""
        check = self._clients.provided(MODEL_CHECK)
        if self._only is None and check is not None:
            await check(label, self._settings, self._environ, clients=self._clients)

    @property
    def line(self) -> str:
        """The answering model in one line, or that it is not known yet."""
        if self._only is not None:
            return "model: of the program that runs this"
        choice = self._choices.get(self._model)
        return choice.why if choice is not None else f"model: {self._model}"

    async def pick(self, label: str | None = None) -> tuple[LLMProvider, ModelProfile]:
        """The provider and the profile for a label, with its price if that is known. Raises
        ModelError or ConfigError.
        """
        if self._only is not None:
            return await self._only.pick(label)
        providers = self._providers
        choice = await self.choice(label)
        price = await self._price_of(choice)
        if choice.provider_name not in providers:
            # Imports aiohttp: 0.15 s and 10 MB that commands without a model should not pay. Half
            # of the time is for certificates, for which other threads need not wait.
            await asyncio.to_thread(self._clients.load, choice.client)
        await self._facts.ask(choice)
        provider = providers.get(choice.provider_name)
        if provider is None:
            provider = self._make(choice)
            providers[choice.provider_name] = provider
        profile = provider.profile(choice.model)
        return provider, replace(profile, price=profile.price if price is None else price)

    def _make(self, choice: ModelChoice) -> LLMProvider:
        settings = self._settings.get(choice.provider_name, ProviderSettings())
        local = is_local(choice.api_base)
        return self._clients.open(
            Opening(
                choice=choice,
                settings=settings,
                clock=self._clock,
                policy=CallPolicy.of(settings.first_token_seconds, local=local),
                profiles=self._facts.profile,
                home=self._home,
                environ=self._environ,
            )
        )

    async def price(self, label: str | None = None) -> Price | None:
        """The price of the model with a label; None if it is not known, which is logged once.

        Raises ConfigError.
        """
        return await self._price_of(await self.choice(label))

    async def _price_of(self, choice: ModelChoice) -> Price | None:
        name = f"{choice.provider_name}/{choice.model}"
        if name not in self._prices:
            price = FREE if choice.client == EMBEDDED else await self._facts.find_price(choice)
            self._prices[name] = price
            if price is None:
                key = f'providers.{choice.provider_name}.models."{choice.model}".price'
                logger.info("the price of {} is unknown; to know costs set {}", name, key)
        return self._prices[name]

    async def configured_price(self, label: str) -> Price | None:
        """The price of the model with a label in the configuration. Raises ConfigError."""
        return await ModelFacts(self._settings).find_price(await self.choice(label))

    async def warm_up(self) -> None:
        """Choose the default model and prepare it, so that no message has to wait for that.

        The embedded model is started; litellm is loaded if it is used.
        """
        if self._only is not None:
            return
        provider, _ = await self.pick()
        if isinstance(provider, WarmingUp):
            await provider.warm_up()

    async def close(self) -> None:
        for providers in (*self._retired, self._providers):
            for provider in providers.values():
                await provider.close()
            providers.clear()
        self._retired.clear()
