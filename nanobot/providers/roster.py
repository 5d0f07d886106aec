"""The models at hand: the configured default, chosen once, and any other by its label."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from loguru import logger

from nanobot.errors import ConfigError
from nanobot.ports import Clock
from nanobot.providers.base import LLMProvider, ModelProfile
from nanobot.providers.embedded import EmbeddedProvider
from nanobot.providers.models import EMBEDDED, Choice, Probe, choose
from nanobot.providers.openai_compat import OpenAICompatProvider
from nanobot.settings import ProviderSettings


class Roster:
    """Makes each provider once, at first need. See agent.asking.Models."""

    def __init__(
        self,
        model: str,
        providers: Mapping[str, ProviderSettings],
        environ: Mapping[str, str],
        home: Path,
        clock: Clock,
        probe: Probe | None = None,
    ) -> None:
        self._model = model
        self._settings = providers
        self._environ = environ
        self._home = home
        self._clock = clock
        self._probe = probe
        self._providers: dict[str, LLMProvider] = {}
        self._choices: dict[str, Choice] = {}
        self._choosing = asyncio.Lock()

    async def choice(self, label: str | None = None) -> Choice:
        """Which model a label (None: the configuration) stands for; `why` is a line for people.

        Raises ConfigError naming the key and the remedy.
        """
        wanted = label or self._model
        found = self._choices.get(wanted)
        if found is not None:
            return found
        async with self._choosing:
            if wanted not in self._choices:
                made = await choose(wanted, self._settings, self._environ, self._probe)
                logger.info("{}", made.why)
                self._choices[wanted] = made
        return self._choices[wanted]

    @property
    def line(self) -> str:
        """Who answers, in a line; or that it is not known yet."""
        found = self._choices.get(self._model)
        return found.why if found is not None else f"model: {self._model}"

    async def pick(self, label: str | None = None) -> tuple[LLMProvider, ModelProfile]:
        """The provider and the profile behind a label. Raises ModelError or ConfigError."""
        choice = await self.choice(label)
        provider = self._providers.get(choice.provider_name)
        if provider is None:
            provider = self._make(choice)
            self._providers[choice.provider_name] = provider
        return provider, provider.profile(choice.model)

    def _make(self, choice: Choice) -> LLMProvider:
        if choice.client == "embedded" or choice.provider_name == EMBEDDED:
            return EmbeddedProvider(
                self._home,
                clock=self._clock,
                model=choice.model,
                log_path=self._home / "logs" / "embedded.log",
                environ=self._environ,
            )
        if choice.client == "litellm":
            raise ConfigError(
                f'providers.{choice.provider_name}.client = "litellm" is not in this version yet: '
                'use "auto" or "lean"'
            )
        return OpenAICompatProvider(
            choice.provider_name, choice.api_base, choice.api_key, clock=self._clock
        )

    async def warm_up(self) -> None:
        """Choose the default model, and start it if it is the embedded one; off anybody's path."""
        provider, _profile = await self.pick()
        if isinstance(provider, EmbeddedProvider):
            await provider.start()

    async def close(self) -> None:
        """End connections and child processes."""
        for provider in self._providers.values():
            await provider.close()
        self._providers.clear()
