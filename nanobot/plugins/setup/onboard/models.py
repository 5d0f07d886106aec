"""The model given on the command line, for onboard."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import msgspec

from nanobot.config.settings.agent import ProviderSettings
from nanobot.config.settings.base import is_url
from nanobot.errors import ConfigError, UsageError
from nanobot.plugins.common.models.model_lists import chat_models, http_probe
from nanobot.plugins.setup.available_models import AvailableModel
from nanobot.plugins.setup.model_names import completed_address, wrong_address, wrong_label

OWN_PROVIDER = "custom"
"""The name of a provider if only its address is given."""


class ModelWishes(msgspec.Struct, frozen=True, kw_only=True):
    """The model options of the command line, each empty if missing."""

    model: str = ""
    api_key_env: str = ""
    api_base: str = ""


def named(wishes: ModelWishes, environ: Mapping[str, str]) -> AvailableModel:
    """The model given on the command line. Raises UsageError for an unset variable, and for an
    address without a model.
    """
    label, variable = wishes.model, wishes.api_key_env
    base = completed_address(wishes.api_base)
    if wrong := (base and wrong_address(base)) or (is_url(label) and wrong_label(label)):
        raise ConfigError(wrong)
    if base and "/" not in label:
        label = f"{OWN_PROVIDER}/{label or _first_of(base)}"
    name, slash, _ = label.partition("/")
    if not variable and not base:
        return AvailableModel(label=label, why="as you said", keys={"agent.model": label})
    if not slash:
        raise UsageError("--api-key-env needs --model PROVIDER/MODEL: whose key is it?")
    key = environ.get(variable, "") if variable else ""
    if variable and not key:
        raise UsageError(f"the variable {variable} is not set")
    model = AvailableModel.of(name, label.partition("/")[2], base=base)
    keys = {**model.keys, **({f"providers.{name}.api_key": f"${{{variable}}}"} if variable else {})}
    settings = ProviderSettings(api_key=key, api_base=base)
    why = f"{variable} is set" if variable else f"at {base}"
    return AvailableModel(label=label, why=why, keys=keys, providers={name: settings})


def _first_of(base: str) -> str:
    models = chat_models(asyncio.run(http_probe(f"{base.rstrip('/')}/models")))
    if not models:
        raise UsageError(
            f"--api-base needs --model PROVIDER/MODEL: {base} does not list its models"
        )
    return models[0]
