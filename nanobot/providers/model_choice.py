"""The choice of the model that answers."""

from __future__ import annotations

import difflib
import ipaddress
from collections.abc import Callable, Coroutine, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import urlsplit

import msgspec

from nanobot.config.settings.agent import CLIENTS, ProviderSettings
from nanobot.errors import ConfigError
from nanobot.providers.known_providers import KNOWN_PROVIDERS, KnownProvider
from nanobot.seam.installed import Interface, provided
from nanobot.system import is_loopback
from nanobot.text import Sentence

EMBEDDED = "embedded"
EMBEDDED_MODEL = "smollm2-135m-instruct"
AGENT_MODEL = "agent.model"

# RFC 6762, RFC 8375, RFC 6761; and names that home and company routers use anyway.
_LOCAL_NAMES = (".local", ".localhost", ".home.arpa", ".internal", ".lan", ".home")


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


class _Given(NamedTuple):
    """What a choice is made from; errors call it `key`."""

    providers: Mapping[str, ProviderSettings]
    environ: Mapping[str, str]
    key: str


Auto: TypeAlias = Callable[
    [Mapping[str, ProviderSettings], Mapping[str, str], Mapping[str, MissingPlugin]],
    Coroutine[Any, Any, ModelChoice],
]
"""Finds a model by the configured providers and the environment, without the clients that are
off."""
AUTO_MODEL: Interface[Auto] = Interface("auto_model")
"""Finds the model of "auto"."""
OTHER_PROVIDERS: Interface[Callable[[], Mapping[str, bool]]] = Interface("other_providers")
"""The providers that litellm reaches unless an address is configured, and whether they have an API
of their own, so that an address changes nothing."""


async def choose(
    model: str,
    providers: Mapping[str, ProviderSettings],
    environ: Mapping[str, str],
    key: str = AGENT_MODEL,
    off: Mapping[str, MissingPlugin] = MappingProxyType({}),
    auto: Auto | None = None,
) -> ModelChoice:
    """The model to use for `agent.model`, or for what errors call `key`.

    "provider/model" and "embedded" are taken literally; `auto` finds the model of "auto". `off`:
    the clients that cannot be used, and why. Raises ConfigError, naming the key and the remedy, for
    an impossible choice.
    """
    given = _Given(providers, environ, key)
    name, _, rest = model.strip().partition("/")
    if name == EMBEDDED:
        choice = embedded(rest or EMBEDDED_MODEL, 'agent.model = "embedded"')
    elif rest:
        choice = _explicit(name, rest, given)
    elif name not in ("", "auto"):
        choice = _bare(name, given)
    elif auto is not None:
        choice = await auto(providers, environ, off)
    else:
        raise ConfigError(
            f'{key} is "auto", which needs the plugin auto: `nanobot plugins on auto`, or write '
            f'{key} = "provider/model"'
        )
    if missing := off.get(choice.client):
        raise ConfigError(
            f'{key} is "{model}": {choice.provider_name}/{choice.model} needs the plugin '
            f"{missing.plugin}. {missing.why}"
        )
    _check(choice, providers.get(choice.provider_name, ProviderSettings()), environ)
    return choice


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


def _explicit(name: str, model: str, given: _Given) -> ModelChoice:
    settings = given.providers.get(name)
    if settings is None:
        if name not in KNOWN_PROVIDERS and name not in _others():
            raise _unknown(name, model, given)
        settings = ProviderSettings()
    why = f'{name}/{model} answers (agent.model = "{name}/{model}")'
    return reach(name, model, settings, given.environ, why)


def reach(
    name: str, model: str, settings: ProviderSettings, environ: Mapping[str, str], why: str
) -> ModelChoice:
    """The choice of a model of a provider, with its address, key and client."""
    row = KNOWN_PROVIDERS.get(name)
    api_key = settings.api_key or (key_of(row, environ)[1] if row else "")
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
    native = _others().get(name)
    foreign = native or (native is False and not settings.api_base)
    return "litellm" if foreign else "lean"


def _others() -> Mapping[str, bool]:
    names = provided(OTHER_PROVIDERS)
    return {} if names is None else names()


def _bare(model: str, given: _Given) -> ModelChoice:
    """A model without its provider: unambiguous only if exactly one provider is configured."""
    providers, key = given.providers, given.key
    if len(providers) == 1:
        return _explicit(next(iter(providers)), model, given)
    if model in providers or model in KNOWN_PROVIDERS or model in _others():
        row = KNOWN_PROVIDERS.get(model)
        example = (row.default_model if row else "") or "MODEL"
        raise ConfigError(f'{key} is "{model}", a provider: write "{model}/{example}".')
    raise ConfigError(
        f'{key} is "{model}" without its provider: write "PROVIDER/{model}", '
        'for example "openai/gpt-6-luna", or "auto" or "embedded".'
    )


def embedded(model: str, because: str) -> ModelChoice:
    """The choice of a model on this machine, for that reason."""
    why = (
        f"the embedded model {model} answers ({because}): it is small, it only chats; "
        'for more set OPENAI_API_KEY or another key, or agent.model = "provider/model"'
    )
    return ModelChoice(EMBEDDED, model, "", "", why, EMBEDDED)


def key_of(row: KnownProvider, environ: Mapping[str, str]) -> tuple[str, str]:
    """The variable with a known provider's key, and the key; both "" if none is set."""
    for variable in row.env:
        if key := environ.get(variable, "").strip():
            return variable, key
    return "", ""


def _unknown(name: str, model: str, given: _Given) -> ConfigError:
    providers = given.providers
    names = [*providers, *KNOWN_PROVIDERS, EMBEDDED]
    near = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.5)
    # litellm's many additional names are suggested only if they are very similar.
    near = difflib.get_close_matches(name.lower(), _others(), n=1, cutoff=0.75) or near
    if near:
        hint = f'did you mean "{near[0]}/{model}"?'
    elif len(providers) == 1:
        hint = f'did you mean "{next(iter(providers))}/{name}/{model}"?'
    else:
        hint = f"known are {', '.join(dict.fromkeys(names))}, and more through litellm."
    return ConfigError(
        f'{given.key} is "{name}/{model}", but there is no provider "{name}": {hint} '
        f'Any other endpoint works with [providers.{name}] api_base = "https://...".'
    )
