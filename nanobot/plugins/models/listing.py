"""The models that an endpoint lists, and the newest model of a line."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from nanobot.config.settings.agent import ProviderSettings
from nanobot.errors import ConfigError
from nanobot.plugins.common.models.model_lists import listed_at
from nanobot.plugins.common.models.named_model import EMBEDDED_MODEL
from nanobot.plugins.models.port import ListsModels
from nanobot.providers.base import LLMProvider
from nanobot.providers.clients import LEAN, Clients
from nanobot.providers.model_choice import EMBEDDED, ModelChoice
from nanobot.providers.model_facts import profile_for
from nanobot.providers.opening import Opening
from nanobot.providers.retrying import CallPolicy
from nanobot.system import SystemClock

_SECONDS = 5.0
_NUMBER = re.compile(r"\d+(?:[.p]\d+)?")
_SNAPSHOT = re.compile(r"\d{4}|-(?:preview|exp|experimental|latest)\b|-\d{3}$")
"""A dated or numbered snapshot, or a preview: such names are removed later."""


async def listed_models(choice: ModelChoice, clients: Clients | None = None) -> list[str] | None:
    """The names in the endpoint's list; None if there is no list within five seconds."""
    if choice.client == EMBEDDED:
        return [EMBEDDED_MODEL]
    if not choice.api_base:
        return None
    clients = clients or Clients()
    try:
        provider = await asyncio.to_thread(_opened, clients, choice)
        if not isinstance(provider, ListsModels):  # its endpoint may be like OpenAI's all the same
            provider = await asyncio.to_thread(_opened, clients, replace(choice, client=LEAN))
    except ConfigError:
        return None
    try:
        return await listed_by(provider) if isinstance(provider, ListsModels) else None
    finally:
        await provider.close()


async def listed_by(provider: ListsModels) -> list[str] | None:
    """The names in its endpoint's list; None if there is no list within five seconds."""
    endpoint = provider.client("application/json")
    return await listed_at(endpoint, provider.listing, _SECONDS) or None


async def newest_model(choice: ModelChoice) -> str:
    """The newest model of the line of a choice that its endpoint lists."""
    return newest(choice.model, await listed_models(choice) or ())


def _opened(clients: Clients, choice: ModelChoice) -> LLMProvider:
    return clients.open(
        Opening(
            choice=choice,
            settings=ProviderSettings(),
            clock=SystemClock(),
            policy=CallPolicy(),
            profiles=profile_for,
            home=Path(),
            environ={},
        )
    )


def line_of(name: str) -> tuple[str, tuple[float, ...]]:
    """A model's line and its version: "gpt-5.4-mini" is 5.4 of "gpt-*-mini". The properties for
    which a line is chosen (its price, its speed) stay when its version increases.
    """
    numbers = tuple(float(number.replace("p", ".")) for number in _NUMBER.findall(name))
    return re.sub(r"\d+(?:[.p-]\d+)*", "*", name), numbers


def newest(default: str, listed: Sequence[str]) -> str:
    """The newest listed model of the line of `default`, without snapshots and previews; `default`
    itself if none is newer.
    """
    line, version = line_of(default)
    best, found = version, default
    for name in listed:
        own, number = line_of(name)
        if own == line and number > best and not _SNAPSHOT.search(name):
            best, found = number, name
    return found
