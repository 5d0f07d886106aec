"""Whether a model that somebody names is there: by the tables, else by its endpoint's own list."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Mapping, Sequence

import msgspec

from nanobot.config.settings.agent import CLIENTS, ProviderSettings
from nanobot.errors import ConfigError, UsageError
from nanobot.providers.addresses import versioned
from nanobot.providers.known_providers import KNOWN_PROVIDERS
from nanobot.providers.litellm_names import REACHED
from nanobot.providers.model_choice import EMBEDDED, EMBEDDED_MODEL, ModelChoice, choose
from nanobot.providers.model_table import ModelTable, names_of

_PATIENCE_SECONDS = 5.0
_MAX_BYTES = 4_000_000
_OFFERED = 3
_FORCED = "--force takes it all the same"


async def check_model(
    label: str,
    providers: Mapping[str, ProviderSettings],
    environ: Mapping[str, str],
    *,
    reachable: bool = True,
) -> None:
    """Raises ConfigError for a provider that nobody knows, and UsageError for a model that its
    endpoint does not list, each with the nearest names, or where nothing can tell whether there is
    such a model. Without
    `reachable` a provider may have no key yet."""
    name, _, model = label.strip().partition("/")
    if label.strip() in ("", "auto") or _is_embedded(name, model):
        return
    try:
        choice = await choose(label, providers, environ)
    except ConfigError:
        known = name in providers or name in KNOWN_PROVIDERS or name in REACHED
        if reachable or not known or not model:
            raise
        row = KNOWN_PROVIDERS.get(name)
        choice = ModelChoice(name, model, row.api_base if row else "", "", "")
    if choice.client not in (*CLIENTS, EMBEDDED) or await _is_in_a_table(choice, providers):
        return
    listed = await _listed(choice)
    if listed is None:
        listed = await asyncio.to_thread(names_of, choice.provider_name)
        raise UsageError(
            _missing("gives no list of its models now, and is not known to have", choice, listed)
        )
    if not _is_among(choice.model, listed):
        raise UsageError(_missing("lists no model", choice, listed))


def _is_embedded(name: str, model: str) -> bool:
    return name == EMBEDDED and model in ("", EMBEDDED_MODEL)


async def _is_in_a_table(choice: ModelChoice, providers: Mapping[str, ProviderSettings]) -> bool:
    name, model = choice.provider_name, choice.model
    row, settings = KNOWN_PROVIDERS.get(name), providers.get(name)
    described = () if settings is None else (*settings.models, *settings.prices)
    if model in described or (row is not None and row.default_model == model):
        return True
    if settings is not None and settings.api_base:  # what it resells or serves it says itself
        return False
    table = ModelTable(providers)
    await table.look_up(name, model)
    return table.has_row(name, model)


async def _listed(choice: ModelChoice) -> list[str] | None:
    """The names in the endpoint's list; None if it gives none."""
    if choice.client == "embedded":
        return [EMBEDDED_MODEL]
    if not choice.api_base:
        return None
    import aiohttp  # noqa: PLC0415 - 0.15 s that commands without a model's name should not pay

    from nanobot.providers.anthropic import VERSION  # noqa: PLC0415
    from nanobot.providers.openai_http import EndpointClient  # noqa: PLC0415
    from nanobot.providers.suggestions import Listing  # noqa: PLC0415

    if choice.client == "gemini":
        base = versioned(choice.api_base, "v1beta", below_paths=True)
        headers, path = {"x-goog-api-key": choice.api_key}, "/models?pageSize=1000"
    elif choice.client == "anthropic":
        base = versioned(choice.api_base, below_paths=True)
        headers = {"x-api-key": choice.api_key, "anthropic-version": VERSION}
        path = "/models?limit=1000"
    else:
        base, path = versioned(choice.api_base), "/models"
        headers = {"Authorization": f"Bearer {choice.api_key}"} if choice.api_key else {}
    client = EndpointClient(base, headers, _PATIENCE_SECONDS)
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            response = await client.get(path)
            body = await response.content.read(_MAX_BYTES)
        listing = msgspec.json.decode(body, type=Listing)
    except (aiohttp.ClientError, OSError, ValueError, RecursionError):
        return None
    finally:
        await client.close()
    return listing.names or None


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
    hint = f"did you mean {names}? " if near else ""
    return f'{choice.provider_name} {why} "{choice.model}": {hint}{_FORCED}'
