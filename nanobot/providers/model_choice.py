"""The available providers, as a table, and the choice of the model that answers."""

from __future__ import annotations

import asyncio
import difflib
import ipaddress
from collections.abc import Callable, Coroutine, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import urlsplit

import msgspec

from nanobot.config.settings.agent import CLIENTS, ProviderSettings
from nanobot.errors import ConfigError
from nanobot.providers.addresses import versioned
from nanobot.providers.known_providers import KNOWN_PROVIDERS, LOCAL_PROVIDERS, KnownProvider
from nanobot.providers.litellm_names import NATIVE, REACHED
from nanobot.system import is_loopback
from nanobot.text import Sentence

EMBEDDED = "embedded"
EMBEDDED_MODEL = "smollm2-135m-instruct"
PROBE_SECONDS = 0.3
AGENT_MODEL = "agent.model"


# RFC 6762, RFC 8375, RFC 6761; and names that home and company routers use anyway.
_LOCAL_NAMES = (".local", ".localhost", ".home.arpa", ".internal", ".lan", ".home")
_NOT_FOR_CHAT = ("embed", "bge-", "minilm", "rerank", "whisper", "tts")


class ModelChoice(msgspec.Struct, frozen=True):
    """The model that answers. `why` is one line for people; `client` is the client used: lean
    (OpenAI-compatible), one that a plugin brings (anthropic, gemini, litellm, embedded ...), or one
    of another package.
    """

    provider_name: str
    model: str
    api_base: str
    api_key: str
    why: str
    client: str = "lean"


class MissingPlugin(NamedTuple):
    """The plugin that a client needs, and why it is not on."""

    plugin: str
    why: Sentence


Probe: TypeAlias = Callable[[str], Coroutine[Any, Any, tuple[str, ...] | None]]
"""Maps a listing's URL to the models it lists, best first; None if there is no answer."""


async def choose(
    model: str,
    providers: Mapping[str, ProviderSettings],
    environ: Mapping[str, str],
    probe: Probe | None = None,
    key: str = AGENT_MODEL,
    off: Mapping[str, MissingPlugin] = MappingProxyType({}),
) -> ModelChoice:
    """The model to use for `agent.model`, or for what errors call `key`.

    "provider/model" and "embedded" are taken literally. "auto" is the first of: a configured
    provider, a key in the environment, a server on this machine, the embedded model. Only "auto"
    uses the network: for a configured endpoint whose models are unknown, and, before it falls back
    to the embedded model, for the usual ports of this machine. `off`: the clients that cannot be
    used, and why; "auto" passes over keys in the environment for these. Raises
    ConfigError, naming the key and the remedy, for an impossible choice.
    """
    choice = await _chosen(model, providers, environ, probe or http_probe, key, off)
    if missing := off.get(choice.client):
        raise ConfigError(
            f'{key} is "{model}": {choice.provider_name}/{choice.model} needs the plugin '
            f"{missing.plugin}. {missing.why}"
        )
    _check(choice, providers.get(choice.provider_name, ProviderSettings()), environ)
    return choice


async def _chosen(
    model: str,
    providers: Mapping[str, ProviderSettings],
    environ: Mapping[str, str],
    probe: Probe,
    key: str,
    off: Mapping[str, MissingPlugin],
) -> ModelChoice:
    name, _, rest = model.strip().partition("/")
    if name == EMBEDDED:
        return _embedded(rest or EMBEDDED_MODEL, 'agent.model = "embedded"')
    if rest:
        return _explicit(name, rest, providers, environ, key)
    if name not in ("", "auto"):
        return _bare(name, providers, environ, key)
    return (
        await _configured(providers, environ, probe)
        or await _from_environment(providers, environ, probe, off)
        or await _local(environ, probe)
        or _embedded(EMBEDDED_MODEL, "no provider is configured and no key was found")
    )


async def http_probe(url: str) -> tuple[str, ...] | None:
    """The models listed at `url` (Ollama's /api/tags or an OpenAI-compatible /models).

    None if there is no answer within PROBE_SECONDS. Proxies are not used, because this is for
    loopback.
    """
    import aiohttp  # noqa: PLC0415  # 0.15 s that nobody with a configured model should pay

    try:
        async with (
            asyncio.timeout(PROBE_SECONDS),
            aiohttp.ClientSession() as client,
            client.get(url, allow_redirects=False) as answer,
        ):
            listing = msgspec.json.decode(await answer.read(), type=_Listing)
    except (aiohttp.ClientError, OSError, msgspec.DecodeError):
        return None
    return tuple(row.id or row.name for row in (*listing.models, *listing.data))


def is_local(url: str) -> bool:
    """Whether the address is on this machine or its local network, where models are often slow to
    start: small machines read the whole prompt slowly, or load the model first.
    """
    host = urlsplit(url).hostname or ""
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        # A name without a dot is a machine on the local network, or a container.
        return host.endswith(_LOCAL_NAMES) or bool(host and "." not in host)


class _Listed(msgspec.Struct):
    id: str = ""
    name: str = ""


class _Listing(msgspec.Struct):
    models: list[_Listed] = []
    data: list[_Listed] = []


def _explicit(
    name: str,
    model: str,
    providers: Mapping[str, ProviderSettings],
    environ: Mapping[str, str],
    key: str,
) -> ModelChoice:
    settings = providers.get(name)
    if settings is None:
        if name not in KNOWN_PROVIDERS and name not in REACHED:
            raise _unknown(name, model, providers, key)
        settings = ProviderSettings()
    why = f'{name}/{model} answers (agent.model = "{name}/{model}")'
    return _reach(name, model, settings, environ, why)


def _reach(
    name: str, model: str, settings: ProviderSettings, environ: Mapping[str, str], why: str
) -> ModelChoice:
    row = KNOWN_PROVIDERS.get(name)
    api_key = settings.api_key or (_key_of(row, environ)[1] if row else "")
    own_base = _own_base(name, settings, environ)
    client = settings.client if settings.client != "auto" else _client_of(name, settings, own_base)
    if client == "litellm":
        # litellm finds keys, regions and addresses that are not configured in the environment.
        return ModelChoice(name, model, own_base, api_key, why, client)
    api_base = own_base or (row.api_base if row else "")
    if client == "lean" and not own_base and row:
        api_base = row.compatible_base or row.api_base
    return ModelChoice(name, model, api_base, api_key, why, client)


def _own_base(name: str, settings: ProviderSettings, environ: Mapping[str, str]) -> str:
    """The address from the configuration or the environment; "" if neither has one."""
    row = KNOWN_PROVIDERS.get(name)
    return settings.api_base or (row.address_in(environ)[1] if row else "")


def _check(choice: ModelChoice, settings: ProviderSettings, environ: Mapping[str, str]) -> None:
    """Raises ConfigError if the address or the key is missing. Clients that look for these
    themselves are not checked."""
    name, client = choice.provider_name, choice.client
    if client == "litellm" or client not in CLIENTS:
        return
    if not choice.api_base:
        raise ConfigError(
            f"providers.{name}.api_base is missing: set it to the address of an "
            f'OpenAI-compatible endpoint, or set providers.{name}.client = "litellm".'
        )
    # A self-hosted endpoint may need no key; the known public ones always do.
    keyed = choice.api_key or _own_base(name, settings, environ)
    if not keyed and not is_loopback(choice.api_base):
        row = KNOWN_PROVIDERS.get(name)
        variable = row.env[0] if row and row.env else "its key"
        raise ConfigError(
            f"{name} needs a key: set providers.{name}.api_key, or export {variable}."
        )


def _client_of(name: str, settings: ProviderSettings, own_base: str) -> str:
    """How `auto` calls a provider: with its native API if we implement it, through litellm if it
    has another API or an address that we do not know, and otherwise as OpenAI-compatible.
    """
    row = KNOWN_PROVIDERS.get(name)
    if row is not None and row.client != "lean":
        # Google's own OpenAI-compatible addresses, and those of proxies that copy them.
        return "lean" if own_base.rstrip("/").endswith("/openai") else row.client
    foreign = name in NATIVE or (name in REACHED and not settings.api_base)
    return "litellm" if foreign else "lean"


def _bare(
    model: str, providers: Mapping[str, ProviderSettings], environ: Mapping[str, str], key: str
) -> ModelChoice:
    """A model without its provider: unambiguous only if exactly one provider is configured."""
    if len(providers) == 1:
        return _explicit(next(iter(providers)), model, providers, environ, key)
    if model in providers or model in KNOWN_PROVIDERS or model in REACHED:
        row = KNOWN_PROVIDERS.get(model)
        example = (row.default_model if row else "") or "MODEL"
        raise ConfigError(f'{key} is "{model}", a provider: write "{model}/{example}".')
    raise ConfigError(
        f'{key} is "{model}" without its provider: write "PROVIDER/{model}", '
        'for example "openai/gpt-6-luna", or "auto" or "embedded".'
    )


async def _configured(
    providers: Mapping[str, ProviderSettings], environ: Mapping[str, str], probe: Probe
) -> ModelChoice | None:
    nameless = ""
    for name, settings in providers.items():
        row = KNOWN_PROVIDERS.get(name)
        keyed = settings.api_key or (row and _key_of(row, environ)[1])
        ours = settings.client in CLIENTS
        if ours and not keyed and not settings.api_base:
            continue
        model = row.default_model if row else ""
        if ours and not model and settings.api_base:
            offered = chat_models(await probe(f"{versioned(settings.api_base)}/models"))
            model = offered[0] if offered else ""
        if model:
            why = f"{name}/{model} answers ([providers.{name}] is configured); {_TO_CHANGE}"
            return _reach(name, model, settings, environ, why)
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
        variable, _ = _key_of(provider, environ)
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
            choice = _reach(name, model, settings, environ, why)
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


def local_addresses(environ: Mapping[str, str]) -> dict[str, str]:
    """The usual addresses of model servers on this machine, best first, by name. An environment
    variable may override one.
    """
    return {
        name: KNOWN_PROVIDERS[name].address_in(environ)[1] or KNOWN_PROVIDERS[name].api_base
        for name in LOCAL_PROVIDERS
    }


def chat_models(names: tuple[str, ...] | None) -> list[str]:
    """The models that are not for embeddings or speech."""
    return [
        name
        for name in names or ()
        if name and not any(word in name.lower() for word in _NOT_FOR_CHAT)
    ]


def _embedded(model: str, because: str) -> ModelChoice:
    why = (
        f"the embedded model {model} answers ({because}): it is small, it only chats; "
        'for more set OPENAI_API_KEY or another key, or agent.model = "provider/model"'
    )
    return ModelChoice(EMBEDDED, model, "", "", why, EMBEDDED)


_TO_CHANGE = 'to change it set agent.model = "provider/model"'


def _key_of(row: KnownProvider, environ: Mapping[str, str]) -> tuple[str, str]:
    for variable in row.env:
        if key := environ.get(variable, "").strip():
            return variable, key
    return "", ""


def _unknown(
    name: str, model: str, providers: Mapping[str, ProviderSettings], key: str
) -> ConfigError:
    names = [*providers, *KNOWN_PROVIDERS, EMBEDDED]
    near = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.5)
    # litellm's many additional names are suggested only if they are very similar.
    near = difflib.get_close_matches(name.lower(), REACHED, n=1, cutoff=0.75) or near
    if near:
        hint = f'did you mean "{near[0]}/{model}"?'
    elif len(providers) == 1:
        hint = f'did you mean "{next(iter(providers))}/{name}/{model}"?'
    else:
        hint = f"known are {', '.join(dict.fromkeys(names))}, and more through litellm."
    return ConfigError(
        f'{key} is "{name}/{model}", but there is no provider "{name}": {hint} '
        f'Any other endpoint works with [providers.{name}] api_base = "https://...".'
    )
