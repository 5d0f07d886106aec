"""Providers from other packages, found through the entry point group `nanobot.providers`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from msgspec.structs import replace

from nanobot.boundary import boundary
from nanobot.config.settings.agent import ProviderSettings
from nanobot.errors import (
    ConfigError,
    ModelError,
    ModelProtocolError,
    ModelUnreachable,
    PluginBroken,
)
from nanobot.providers.base import (
    Completion,
    Delta,
    LLMProvider,
    ModelProfile,
    ModelRequest,
    ReasoningDelta,
    Retrying,
    TextDelta,
)
from nanobot.providers.model_choice import ModelChoice
from nanobot.providers.model_table import configured
from nanobot.seam.entry_points import PROVIDERS, Plugins

_METHODS = ("profile", "chat_stream", "chat", "close")


def open_provider(choice: ModelChoice, settings: ProviderSettings, plugins: Plugins) -> LLMProvider:
    """The provider from another package for a choice with an unknown `client`: its entry point is
    called with the table's name and the table's keys, including `api_key` and `api_base`.

    Raises ConfigError that lists the installed ones, for settings that the provider rejects, and
    for a broken provider.
    """
    name, client = choice.provider_name, choice.client
    if client not in plugins.names(PROVIDERS):
        raise ConfigError(unknown(name, client, plugins))
    keys = {"api_key": choice.api_key, "api_base": choice.api_base, **settings.settings}
    try:
        opened = plugins.opened(PROVIDERS, client, lambda opener: _whole(opener(name, keys)))
    except PluginBroken as error:
        raise ConfigError(f"providers.{name}.client: {error}") from error
    return Guarded(name, opened, settings)


def unknown(name: str, client: str, plugins: Plugins) -> str:
    """The message for a client that is not installed."""
    clients = ", ".join(("auto", "lean", "litellm", *plugins.names(PROVIDERS)))
    return f"providers.{name}.client: there is no client {client!r}; there are {clients}"


def _sane(delta: Delta) -> Delta:
    """The same with sane numbers of tokens."""
    if isinstance(delta, Completion) and delta.usage is not None:
        return replace(delta, usage=delta.usage.clamped())
    return delta


def _whole(opened: Any) -> LLMProvider:
    """Raises PluginBroken that names the missing parts."""
    lacking = [method for method in _METHODS if not callable(getattr(opened, method, None))]
    if lacking:
        kind = type(opened).__name__
        raise PluginBroken(
            f"it opens a {kind}, which lacks {', '.join(lacking)} of a nanobot.providers.base."
            "LLMProvider: name that as its base"
        )
    provider: LLMProvider = opened
    return provider


class Guarded(LLMProvider):
    """A provider whose failures all become ModelError, so that the next model is tried."""

    def __init__(self, name: str, inner: LLMProvider, settings: ProviderSettings) -> None:
        self._name = name
        self._inner = inner
        self._settings = settings

    def profile(self, model: str) -> ModelProfile:
        """The provider's profile, overridden by the configuration; a default if it fails."""
        profile = None
        with boundary(f"provider {self._name}: the profile of {model}"):
            profile = self._inner.profile(model)
        if not isinstance(profile, ModelProfile):
            profile = ModelProfile(name=model, provider=self._name)
        return configured(profile, self._settings)

    async def chat_stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """Its answer. Raises only ModelError."""
        done, failure = False, None
        with boundary(f"provider {self._name}") as caught:
            try:
                async for delta in self._inner.chat_stream(request):
                    if not isinstance(delta, TextDelta | ReasoningDelta | Retrying | Completion):
                        raise self._unkept(f"a {type(delta).__name__} within its answer")
                    if done:
                        raise self._unkept("something after its Completion")
                    done = isinstance(delta, Completion)
                    yield _sane(delta)
            except ModelError as error:
                failure = error
        if caught.error is not None:
            kind = type(caught.error).__name__
            raise ModelUnreachable(f"the provider {self._name} failed inside ({kind})")
        if failure is not None:
            raise failure
        if not done:
            raise self._unkept("no Completion at its end")

    def _unkept(self, what: str) -> ModelProtocolError:
        return ModelProtocolError(f"the provider {self._name} gave {what}")

    async def close(self) -> None:
        """Release its resources; a failure is logged."""
        with boundary(f"closing the provider {self._name}"):
            await self._inner.close()
