"""Finds usable models: by a key in the environment, by a server on this machine, and the included
one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Mapping, Sequence
from pathlib import Path

import msgspec

from nanobot.config.loader import Config
from nanobot.config.plugin_tables import switched
from nanobot.config.settings.agent import ProviderSettings
from nanobot.errors import ConfigError
from nanobot.plugins.common.models.known_models import NEWEST_MODEL
from nanobot.plugins.common.models.known_providers import KNOWN_PROVIDERS
from nanobot.plugins.common.models.model_lists import chat_models, http_probe, local_addresses
from nanobot.plugins.setup.model_names import (
    completed_address,
    wrong_address,
    wrong_key,
    wrong_model,
    wrong_provider,
)
from nanobot.providers.clients import Clients
from nanobot.providers.model_choice import EMBEDDED, choose
from nanobot.seam.installed import Interface, provided
from nanobot.text import Sentence

EMBEDDED_INSTALLED: Interface[Callable[[Path], bool]] = Interface("embedded_installed")
"""Whether the embedded model can run in a home."""

_MOST_OFFERED = 5


class AvailableModel(msgspec.Struct, frozen=True, kw_only=True):
    """A usable model, and the configuration it needs."""

    label: str
    why: Sentence = ""
    keys: dict[str, str | list[str]]
    secrets: dict[str, str] = {}
    providers: dict[str, ProviderSettings] = {}

    @classmethod
    def of(cls, name: str, model: str, *, key: str = "", base: str = "") -> AvailableModel:
        """A model of a provider, with a key that is stored in a separate file. The URL may lack its
        scheme. Raises ConfigError for an invalid name, key or URL."""
        base = completed_address(base)
        wrong = wrong_provider(name) or wrong_model(model)
        wrong = wrong or (base and wrong_address(base)) or (key and wrong_key(key))
        if wrong:
            raise ConfigError(wrong)
        label = f"{name}/{model}"
        keys: dict[str, str | list[str]] = {"agent.model": label}
        secrets = {}
        if base:
            keys[f"providers.{name}.api_base"] = base
        if key:
            file = f"secrets/{name}.key"
            keys[f"providers.{name}.api_key"] = f"file:{file}"
            secrets[file] = key
        providers = {name: ProviderSettings(api_key=key, api_base=base)} if key or base else {}
        return cls(label=label, keys=keys, secrets=secrets, providers=providers)


async def find(environ: Mapping[str, str], home: Path, off: Container[str]) -> list[AvailableModel]:
    """The usable models, best first. `off`: the clients whose plugin is not on."""
    choices = [*await _keyed(environ, off), *await _local(environ)]
    is_installed = provided(EMBEDDED_INSTALLED)
    if EMBEDDED in off or is_installed is None or not is_installed(home):
        return choices
    keys: dict[str, str | list[str]] = {"agent.model": EMBEDDED}
    return [
        *choices,
        AvailableModel(label=EMBEDDED, why="included, small, it only chats", keys=keys),
    ]


def clients_off(config: Config | None) -> Container[str]:
    """The clients whose plugin is not on in that configuration."""
    return Clients(which=None if config is None else switched(config)).off


async def _keyed(environ: Mapping[str, str], off: Container[str]) -> list[AvailableModel]:
    """The providers whose key is in the environment, each with its newest default model."""
    variables = {
        name: variable
        for name, provider in KNOWN_PROVIDERS.items()
        if provider.default_model and provider.client not in off
        for variable in provider.env
        if environ.get(variable, "").strip()
    }
    async with asyncio.TaskGroup() as tasks:
        defaults = {name: tasks.create_task(default_model(name, environ, {})) for name in variables}
    labels = {name: f"{name}/{task.result()}" for name, task in defaults.items()}
    return [
        AvailableModel(
            label=labels[name], why=f"{variable} is set", keys={"agent.model": labels[name]}
        )
        for name, variable in variables.items()
    ]


async def default_model(
    name: str, environ: Mapping[str, str], providers: Mapping[str, ProviderSettings]
) -> str:
    """The default model of a known provider: the newest of the known line in the provider's list,
    or the known one if there is no list."""
    known = KNOWN_PROVIDERS[name].default_model
    try:
        choice = await choose(f"{name}/{known}", providers, environ)
    except ConfigError:
        return known
    newest = provided(NEWEST_MODEL)
    return known if newest is None else await newest(choice)


async def _local(environ: Mapping[str, str]) -> list[AvailableModel]:
    bases = local_addresses(environ)
    async with asyncio.TaskGroup() as tasks:
        probes = {
            name: tasks.create_task(http_probe(f"{base}/models")) for name, base in bases.items()
        }
    return [
        AvailableModel(
            label=f"{name}/{model}",
            why=f"running at {bases[name]}",
            keys={"agent.model": f"{name}/{model}"},
        )
        for name, task in probes.items()
        for model in chat_models(task.result())[:_MOST_OFFERED]
    ]


def silent(choices: Sequence[AvailableModel], environ: Mapping[str, str]) -> list[str]:
    """Local model servers that offered no model, with the URLs tried."""
    names = {choice.label.partition("/")[0] for choice in choices}
    return [
        f"{KNOWN_PROVIDERS[name].title} ({base.removesuffix('/v1')})"
        for name, base in local_addresses(environ).items()
        if name not in names
    ]
