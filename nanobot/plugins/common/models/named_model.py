"""The model that a label names, by what is known of its provider."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from nanobot.config.settings.agent import CLIENTS, ProviderSettings
from nanobot.errors import ConfigError
from nanobot.plugins.common.models.known_providers import KNOWN_PROVIDERS, KnownProvider
from nanobot.plugins.common.models.litellm_names import NATIVE, REACHED
from nanobot.providers.model_choice import EMBEDDED, Given, ModelChoice
from nanobot.system import is_loopback

EMBEDDED_MODEL = "smollm2-135m-instruct"


def named_model(label: str, given: Given) -> ModelChoice:
    """See nanobot.providers.model_choice.NAMED_MODEL."""
    name, _, rest = label.partition("/")
    if name == EMBEDDED:
        return embedded(rest or EMBEDDED_MODEL, 'agent.model = "embedded"')
    return _explicit(name, rest, given) if rest else _bare(name, given)


def _explicit(name: str, model: str, given: Given) -> ModelChoice:
    settings = given.providers.get(name)
    if settings is None:
        if name not in KNOWN_PROVIDERS and name not in REACHED:
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
    own_base = settings.api_base or (row.address_in(environ)[1] if row else "")
    client = settings.client if settings.client != "auto" else _client_of(name, settings, own_base)
    if client == "litellm":
        # litellm finds keys, regions and addresses that are not configured in the environment.
        return ModelChoice(name, model, own_base, api_key, why, client)
    api_base = own_base or (row.api_base if row else "")
    if client == "lean" and not own_base and row:
        api_base = row.compatible_base or row.api_base
    # A self-hosted endpoint may need no key; the known public ones always do. Clients of other
    # packages look for both themselves.
    lacks = ""
    if client in CLIENTS and not api_base:
        lacks = (
            f"providers.{name}.api_base is missing: set it to the address of an "
            f'OpenAI-compatible endpoint, or set providers.{name}.client = "litellm".'
        )
    elif client in CLIENTS and not (api_key or own_base or is_loopback(api_base)):
        variable = row.env[0] if row and row.env else "its key"
        lacks = f"{name} needs a key: set providers.{name}.api_key, or export {variable}."
    return ModelChoice(name, model, api_base, api_key, why, client, lacks)


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


def _bare(model: str, given: Given) -> ModelChoice:
    """A model without its provider: unambiguous only if exactly one provider is configured."""
    providers, key = given.providers, given.key
    if len(providers) == 1:
        return _explicit(next(iter(providers)), model, given)
    if model in providers or model in KNOWN_PROVIDERS or model in REACHED:
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


def _unknown(name: str, model: str, given: Given) -> ConfigError:
    providers = given.providers
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
        f'{given.key} is "{name}/{model}", but there is no provider "{name}": {hint} '
        f'Any other endpoint works with [providers.{name}] api_base = "https://...".'
    )
