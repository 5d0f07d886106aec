"""Which models could answer, for onboard: by a key in the environment, a local server, the one
that is included."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import msgspec

from nanobot.config.settings.agent import ProviderSettings
from nanobot.errors import ModelMissing, UsageError
from nanobot.providers.embedded import require
from nanobot.providers.model_choice import EMBEDDED, KNOWN_PROVIDERS, http_probe
from nanobot.system import is_loopback

_NOT_FOR_CHAT = ("embed", "bge-", "minilm", "rerank", "whisper", "tts")


class AvailableModel(msgspec.Struct, frozen=True, kw_only=True):
    """A model that could answer, and what has to be configured for it."""

    label: str
    why: str = ""
    keys: dict[str, str | list[str]]
    secrets: dict[str, str] = {}
    providers: dict[str, ProviderSettings] = {}

    @classmethod
    def of(cls, name: str, model: str, *, key: str = "", base: str = "") -> AvailableModel:
        """A model of a provider, with a key that goes into a file of its own."""
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


def wanted(
    label: str,
    variable: str,
    providers: Mapping[str, ProviderSettings],
    environ: Mapping[str, str],
) -> AvailableModel:
    """The model of that label, its key in a variable ("": where it is anyway). Raises UsageError
    when there is no such variable."""
    keys: dict[str, str | list[str]] = {"agent.model": label}
    name, slash, _ = label.partition("/")
    if not variable:
        return AvailableModel(label=label, why="as you said", keys=keys)
    key = environ.get(variable, "")
    if not key:
        raise UsageError(f"the variable {variable} is not set")
    if not slash:
        raise UsageError("--api-key-env needs --model PROVIDER/MODEL: whose key is it?")
    keys[f"providers.{name}.api_key"] = f"${{{variable}}}"
    provider = providers.get(name, ProviderSettings())
    settings = msgspec.structs.replace(provider, api_key=key)
    return AvailableModel(
        label=label, why=f"{variable} is set", keys=keys, providers={name: settings}
    )


async def find(environ: Mapping[str, str], home: Path) -> list[AvailableModel]:
    """What could answer here, best first."""
    choices = []
    for name, provider in KNOWN_PROVIDERS.items():
        variable = next(
            (
                variable_name
                for variable_name in provider.env
                if environ.get(variable_name, "").strip()
            ),
            "",
        )
        if variable and provider.default_model:
            label = f"{name}/{provider.default_model}"
            why = f"{variable} is set"
            choices.append(AvailableModel(label=label, why=why, keys={"agent.model": label}))
    choices += await _local()
    try:
        require(home)
    except ModelMissing:
        return choices
    keys: dict[str, str | list[str]] = {"agent.model": EMBEDDED}
    return [
        *choices,
        AvailableModel(label=EMBEDDED, why="included, small, it only chats", keys=keys),
    ]


async def _local() -> list[AvailableModel]:
    servers = {n: one.api_base for n, one in KNOWN_PROVIDERS.items() if is_loopback(one.api_base)}
    async with asyncio.TaskGroup() as tasks:
        asked = {
            name: tasks.create_task(http_probe(f"{base}/models")) for name, base in servers.items()
        }
    return [
        AvailableModel(
            label=f"{name}/{model}",
            why="found running here",
            keys={"agent.model": f"{name}/{model}"},
        )
        for name, task in asked.items()
        for model in (task.result() or ())[:5]
        if not any(word in model.lower() for word in _NOT_FOR_CHAT)
    ]
