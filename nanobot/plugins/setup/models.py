"""The models that could answer: what the operations show and try."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import msgspec

from nanobot.config.loader import home_of, load, survey
from nanobot.config.settings.agent import ProviderSettings
from nanobot.plugins.common.models.known_providers import KNOWN_PROVIDERS, LOCAL_PROVIDERS
from nanobot.plugins.setup.available_models import clients_off, find
from nanobot.plugins.setup.probes import try_model
from nanobot.plugins.setup.views import FoundModel, ProviderView, TriedModel


def providers(environ: Mapping[str, str]) -> list[ProviderView]:
    """The providers that are known by name."""
    configured = load(environ, unset={}).providers
    return [
        ProviderView(
            name=name,
            title=provider.title,
            model=provider.default_model,
            api_base=provider.api_base,
            local=name in LOCAL_PROVIDERS,
            has_key=any(environ.get(variable, "").strip() for variable in provider.env)
            or bool(name in configured and configured[name].api_key),
        )
        for name, provider in KNOWN_PROVIDERS.items()
    ]


async def found(environ: Mapping[str, str]) -> list[FoundModel]:
    """Those that could answer, best first."""
    _, config = await asyncio.to_thread(survey, environ)
    models = await find(environ, home_of(environ), clients_off(config))
    return [FoundModel(name=model.label, why=model.why) for model in models]


async def tried(environ: Mapping[str, str], name: str, key: str, api_base: str) -> TriedModel:
    """Ask a model something, by default the one that the configuration names; with that key, at
    that address, where they are not empty. Nothing is written."""
    config = await asyncio.to_thread(load, environ)
    label, configured = name or config.agent.model, dict(config.providers)
    if key or api_base:
        owner = label.partition("/")[0]
        before = configured.get(owner, ProviderSettings())
        changes = {"api_key": key or before.api_key, "api_base": api_base or before.api_base}
        configured[owner] = msgspec.structs.replace(before, **changes)
    return await try_model(label, configured, environ, config)
