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
from nanobot.providers.base import LLMProvider, ModelProfile
from nanobot.providers.clients import Clients
from nanobot.providers.model_choice import (
    AGENT_MODEL,
    AUTO_MODEL,
    ModelChoice,
    choose,
    is_local,
)
from nanobot.providers.model_facts import MODEL_FACTS, MODEL_PRICES, ModelFacts
from nanobot.providers.one_provider import OneProvider
from nanobot.providers.opening import Opening
from nanobot.providers.retrying import CallPolicy
from nanobot.seam.installed import provided


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
        self.environ = environ
        self._home = home
        self._clock = clock
        self.clients = brought if isinstance(brought, Clients) else Clients()
        self.only = brought if isinstance(brought, OneProvider) else None
        self._choosing = asyncio.Lock()
        self._retired: list[dict[str, LLMProvider]] = []
        self._begin(model, providers)

    def _begin(self, model: str, providers: Mapping[str, ProviderSettings]) -> None:
        self._model = model
        self.settings = providers
        self._providers: dict[str, LLMProvider] = {}
        self._choices: dict[str, ModelChoice] = {}
        facts = self.clients.provided(MODEL_FACTS)
        if facts is not None:
            self._facts = facts(providers, self._clock)
        else:
            self._facts = (provided(MODEL_PRICES) or ModelFacts)(providers)

    def configure(self, model: str, providers: Mapping[str, ProviderSettings]) -> None:
        """Change the default model and the settings of providers from now on. Calls in progress are
        not affected.
        """
        if providers == self.settings:
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
        choices, settings = self._choices, self.settings
        choice = choices.get(label)
        if choice is not None:
            return choice
        async with self._choosing:
            if label not in choices:
                auto = self.clients.provided(AUTO_MODEL)
                choice = await choose(
                    label, settings, self.environ, key=key, off=self.clients.off, auto=auto
                )
                logger.info("{}", choice.why)
                choices[label] = choice
        return choices[label]

    @property
    def line(self) -> str:
        """The answering model in one line, or that it is not known yet."""
        if self.only is not None:
            return "model: of the program that runs this"
        choice = self._choices.get(self._model)
        return choice.why if choice is not None else f"model: {self._model}"

    async def pick(self, label: str | None = None) -> tuple[LLMProvider, ModelProfile]:
        """The provider and the profile for a label, with its price if that is known. Raises
        ModelError or ConfigError.
        """
        if self.only is not None:
            return await self.only.pick(label)
        providers = self._providers
        choice = await self.choice(label)
        price = await self._facts.price(choice)
        if choice.provider_name not in providers:
            # Imports aiohttp: 0.15 s and 10 MB that commands without a model should not pay. Half
            # of the time is for certificates, for which other threads need not wait.
            await asyncio.to_thread(self.clients.load, choice.client)
        await self._facts.ask(choice)
        provider = providers.get(choice.provider_name)
        if provider is None:
            provider = self._make(choice)
            providers[choice.provider_name] = provider
        profile = provider.profile(choice.model)
        return provider, replace(profile, price=profile.price if price is None else price)

    def _make(self, choice: ModelChoice) -> LLMProvider:
        settings = self.settings.get(choice.provider_name, ProviderSettings())
        local = is_local(choice.api_base)
        return self.clients.open(
            Opening(
                choice=choice,
                settings=settings,
                clock=self._clock,
                policy=CallPolicy.of(settings.first_token_seconds, local=local),
                profiles=self._facts.profile,
                home=self._home,
                environ=self.environ,
            )
        )

    async def warm_up(self) -> None:
        """Choose the default model and prepare it, so that no message has to wait for that.

        The embedded model is started; litellm is loaded if it is used.
        """
        if self.only is not None:
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
