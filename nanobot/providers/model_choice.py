"""The choice of the model that answers."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Coroutine, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import urlsplit

import msgspec

from nanobot.config.settings.agent import ProviderSettings
from nanobot.errors import ConfigError
from nanobot.seam.installed import Interface, provided
from nanobot.text import Sentence

EMBEDDED = "embedded"
AGENT_MODEL = "agent.model"

# RFC 6762, RFC 8375, RFC 6761; and names that home and company routers use anyway.
_LOCAL_NAMES = (".local", ".localhost", ".home.arpa", ".internal", ".lan", ".home")
_OPENAI = "https://api.openai.com/v1"


class ModelChoice(msgspec.Struct, frozen=True):
    """The model that answers. `why` is one line for people; `client` is the client used: lean
    (OpenAI-compatible), one that a plugin brings (anthropic, gemini, litellm, embedded ...), or one
    of another package. `lacks`: the error that names the key or the address without which it cannot
    be used.
    """

    provider_name: str
    model: str
    api_base: str
    api_key: str
    why: str
    client: str = "lean"
    lacks: str = ""


class MissingPlugin(NamedTuple):
    """The plugin that a client needs, and why it is not on."""

    plugin: str
    why: Sentence


class Given(NamedTuple):
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
NAMED_MODEL: Interface[Callable[[str, Given], ModelChoice]] = Interface("named_model")
"""See `named`, by everything that is known of providers; of the plugin `models`."""


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
    name, _, rest = model.strip().partition("/")
    if rest or name not in ("", "auto"):
        by_label = provided(NAMED_MODEL) or named
        choice = by_label(model.strip(), Given(providers, environ, key))
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
    if choice.lacks:
        raise ConfigError(choice.lacks)
    return choice


def named(label: str, given: Given) -> ModelChoice:
    """The choice of "provider/model": of OpenAI, or of a provider with an address in the
    configuration. Raises ConfigError for any other."""
    name, _, model = label.partition("/")
    settings = given.providers.get(name, ProviderSettings())
    api_base, api_key = settings.api_base, settings.api_key
    if name == "openai":
        api_base = api_base or given.environ.get("OPENAI_BASE_URL", "").strip() or _OPENAI
        api_key = api_key or given.environ.get("OPENAI_API_KEY", "").strip()
    if not (model and api_base):
        raise ConfigError(
            f'{given.key} is "{label}", which needs the plugin models, which is not there. Without '
            'it, write "PROVIDER/MODEL", with [providers.PROVIDER] api_base = "https://..."'
        )
    why = f'{name}/{model} answers (agent.model = "{name}/{model}")'
    client = "lean" if settings.client == "auto" else settings.client
    lacks = ""
    if api_base == _OPENAI and not api_key:
        lacks = "openai needs a key: set providers.openai.api_key, or export OPENAI_API_KEY."
    return ModelChoice(name, model, api_base, api_key, why, client, lacks)


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
