"""Checks that a named model exists, in the tables or in its endpoint's own list."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Mapping, Sequence

from nanobot.config.settings.agent import CLIENTS, ProviderSettings
from nanobot.errors import ConfigError, UsageError
from nanobot.plugins.common.models.known_providers import KNOWN_PROVIDERS
from nanobot.plugins.common.models.litellm_names import REACHED
from nanobot.plugins.common.models.named_model import EMBEDDED_MODEL
from nanobot.plugins.models.listing import listed_models
from nanobot.plugins.models.table import ModelTable, names_of
from nanobot.providers.base import Models
from nanobot.providers.clients import Clients
from nanobot.providers.model_choice import EMBEDDED, ModelChoice, choose
from nanobot.providers.registry import ProviderRegistry

_OFFERED = 3
_FORCED = "option force takes it all the same"


async def check_model(
    label: str,
    providers: Mapping[str, ProviderSettings],
    environ: Mapping[str, str],
    *,
    reachable: bool = True,
    clients: Clients | None = None,
) -> None:
    """Raises ConfigError for an unknown provider, and UsageError for a model that its endpoint does
    not list, each with the most similar names, or if the model cannot be checked. Without
    `reachable`, a provider may lack a key. `clients` (None: all installed ones) open providers.
    """
    name, _, model = label.strip().partition("/")
    if label.strip() in ("", "auto") or _is_embedded(name, model):
        return
    clients = clients or Clients()
    try:
        choice = await choose(label, providers, environ, "the model", clients.off)
    except ConfigError:
        known = name in providers or name in KNOWN_PROVIDERS or name in REACHED
        if reachable or not known or not model:
            raise
        row = KNOWN_PROVIDERS.get(name)
        choice = ModelChoice(name, model, row.api_base if row else "", "", "")
    if choice.client not in (*CLIENTS, EMBEDDED) or await _is_in_a_table(choice, providers):
        return
    listed = await listed_models(choice, clients)
    if listed is None:
        listed = await asyncio.to_thread(names_of, choice.provider_name)
        raise UsageError(
            _missing("gives no list of its models now, and is not known to have", choice, listed)
        )
    if not _is_among(choice.model, listed):
        raise UsageError(_missing("lists no model", choice, listed))


async def check_label(label: str, models: Models) -> None:
    """Like check_model, for a gateway's models; a program's own provider takes every label."""
    if isinstance(models, ProviderRegistry) and models.only is None:
        await check_model(label, models.settings, models.environ, clients=models.clients)


def _is_embedded(name: str, model: str) -> bool:
    return name == EMBEDDED and model in ("", EMBEDDED_MODEL)


async def _is_in_a_table(choice: ModelChoice, providers: Mapping[str, ProviderSettings]) -> bool:
    name, model = choice.provider_name, choice.model
    row, settings = KNOWN_PROVIDERS.get(name), providers.get(name)
    described = () if settings is None else (*settings.models, *settings.prices)
    if model in described or (row is not None and row.default_model == model):
        return True
    if settings is not None and settings.api_base:  # it lists the models it resells or serves
        return False
    table = ModelTable(providers)
    await table.look_up(name, model)
    return table.has_row(name, model)


def _is_among(model: str, listed: Sequence[str]) -> bool:
    """Ollama lists "llama3:latest", Gemini "models/gemini-2.5-pro"."""
    names = {name.removeprefix("models/") for name in listed}
    return model in names or f"{model}:latest" in names or model in listed


def _missing(why: str, choice: ModelChoice, listed: Sequence[str]) -> str:
    model = choice.model.lower()
    shapes = {name.lower(): name for name in listed}
    shapes |= {name.lower().rsplit("/", 1)[-1]: name for name in listed}
    near = [shapes[shape] for shape in difflib.get_close_matches(model, shapes, _OFFERED, 0.5)]
    near = list(dict.fromkeys(near)) or (list(listed) if len(listed) <= _OFFERED else [])
    names = ", ".join(f'"{choice.provider_name}/{name}"' for name in near)
    hint = f"did you mean {names}? The" if near else "the"
    return f'{choice.provider_name} {why} "{choice.model}": {hint} {_FORCED}'
