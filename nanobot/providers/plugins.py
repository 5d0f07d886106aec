"""Providers from other packages: of an entry point `nanobot.providers`, or of their plugins."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
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
from nanobot.providers.model_facts import configured
from nanobot.providers.opening import Opening
from nanobot.seam.entry_points import PROVIDERS, Plugins
from nanobot.seam.given import failing, unable
from nanobot.seam.plugin import Part, resolved


def open_provider(opening: Opening, plugins: Plugins, known: Iterable[str]) -> LLMProvider:
    """The provider from another package for a choice whose `client` is not `known`: its entry point
    is called with the table's name and the table's keys, including `api_key` and `api_base`.

    Raises ConfigError that lists the installed ones, for settings that the provider rejects, and
    for a broken provider.
    """
    choice, settings = opening.choice, opening.settings
    name, client = choice.provider_name, choice.client
    names = plugins.names(PROVIDERS)
    if client not in names:
        clients = ", ".join((*known, *names))
        raise ConfigError(
            f"providers.{name}.client: there is no client {client!r}; there are {clients}"
        )
    keys = {"api_key": choice.api_key, "api_base": choice.api_base, **settings.settings}
    try:
        opened = plugins.opened(PROVIDERS, client, lambda opener: _whole(opener(name, keys)))
    except PluginBroken as error:
        raise ConfigError(f"providers.{name}.client: {error}") from error
    return Guarded(name, opened, settings)


def open_plugged(opening: Opening, part: Part, package: str) -> LLMProvider:
    """The provider that a plugin of a package opens by that function. Raises only ConfigError, for
    settings that it rejects and for a broken one."""
    name, client, why = opening.choice.provider_name, opening.choice.client, list[str]()
    with failing(f"the client {client} of the package {package}", why.append, ConfigError):
        return Guarded(name, _whole(resolved(part)(opening)), opening.settings)
    raise ConfigError(f"providers.{name}.client: {client} of the package {package}: {why[0]}")


def _sane(delta: Delta) -> Delta:
    """The same with sane numbers of tokens."""
    if isinstance(delta, Completion) and delta.usage is not None:
        return replace(delta, usage=delta.usage.clamped())
    return delta


def _whole(opened: Any) -> LLMProvider:
    """Raises PluginBroken that names the missing parts."""
    if lacking := unable(opened, LLMProvider):
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
