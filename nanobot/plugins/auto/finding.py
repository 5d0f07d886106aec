"""Finds the model that answers: in the configuration, in the environment, on this machine."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from nanobot.config.settings.agent import CLIENTS, ProviderSettings
from nanobot.errors import ConfigError
from nanobot.plugins.common.models.known_providers import KNOWN_PROVIDERS, LOCAL_PROVIDERS
from nanobot.plugins.common.models.model_lists import (
    Probe,
    chat_models,
    http_probe,
    local_addresses,
)
from nanobot.plugins.common.models.named_model import EMBEDDED_MODEL, embedded, key_of, reach
from nanobot.providers.addresses import versioned
from nanobot.providers.model_choice import MissingPlugin, ModelChoice

_TO_CHANGE = 'to change it set agent.model = "provider/model"'


async def find(
    providers: Mapping[str, ProviderSettings],
    environ: Mapping[str, str],
    off: Mapping[str, MissingPlugin],
    probe: Probe = http_probe,
) -> ModelChoice:
    """The first of: a configured provider, a key in the environment, a server on this machine, the
    embedded model. The network is used only for a configured endpoint whose models are unknown,
    and, before it falls back to the embedded model, for the usual ports of this machine. Keys in
    the environment of clients that are `off` are passed over. Raises ConfigError, naming the key
    and the remedy, for an impossible choice.
    """
    return (
        await _configured(providers, environ, probe)
        or await _from_environment(providers, environ, probe, off)
        or await _local(environ, probe)
        or embedded(EMBEDDED_MODEL, "no provider is configured and no key was found")
    )


async def _configured(
    providers: Mapping[str, ProviderSettings], environ: Mapping[str, str], probe: Probe
) -> ModelChoice | None:
    nameless = ""
    for name, settings in providers.items():
        row = KNOWN_PROVIDERS.get(name)
        keyed = settings.api_key or (row and key_of(row, environ)[1])
        ours = settings.client in CLIENTS
        if ours and not keyed and not settings.api_base:
            continue
        model = row.default_model if row else ""
        if ours and not model and settings.api_base:
            offered = chat_models(await probe(f"{versioned(settings.api_base)}/models"))
            model = offered[0] if offered else ""
        if model:
            why = f"{name}/{model} answers ([providers.{name}] is configured); {_TO_CHANGE}"
            return reach(name, model, settings, environ, why)
        nameless = nameless or name
    if nameless:
        raise ConfigError(
            f"[providers.{nameless}] is configured, but not which model to ask: "
            f'set agent.model = "{nameless}/MODEL".'
        )
    return None


async def _from_environment(
    providers: Mapping[str, ProviderSettings],
    environ: Mapping[str, str],
    probe: Probe,
    off: Mapping[str, MissingPlugin],
) -> ModelChoice | None:
    for name, provider in KNOWN_PROVIDERS.items():
        variable, _ = key_of(provider, environ)
        place, base = provider.address_in(environ)
        model = provider.default_model
        if name in LOCAL_PROVIDERS or not (variable or base):
            continue
        if base:  # of a server with the same API as this provider: it may have other models
            offered = await probe(f"{base}/models")
            model = (
                model
                if offered is None or model in offered
                else next(iter(chat_models(offered)), "")
            )
        if model:
            why = f"{name}/{model} answers ({place or variable} is set); {_TO_CHANGE}"
            settings = providers.get(name, ProviderSettings())
            choice = reach(name, model, settings, environ, why)
            if choice.client not in off:
                return choice
    return None


async def _local(environ: Mapping[str, str], probe: Probe) -> ModelChoice | None:
    bases = local_addresses(environ)
    async with asyncio.TaskGroup() as group:
        probes = [
            (name, base, group.create_task(probe(f"{base}/models"))) for name, base in bases.items()
        ]
    for name, base, task in probes:
        if model := next(iter(chat_models(task.result())), ""):
            why = f"{name}/{model} answers (found running here); {_TO_CHANGE}"
            return ModelChoice(name, model, base, "", why)
    return None
