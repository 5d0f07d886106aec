"""Checks models in configuration keys before they are written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nanobot.config.loader import survey
from nanobot.config.plugin_tables import switched
from nanobot.config.values import marked
from nanobot.plugins.common.keys.declared_keys import hint_of
from nanobot.plugins.models.checking import check_model


def names_a_model(key: str) -> bool:
    """Whether the value of a key names a model that chats, or several."""
    hint = hint_of(key)
    return hint is not None and marked(hint, "is_model")


async def check_named(keys: Mapping[str, Any], environ: Mapping[str, str]) -> None:
    """Raises ConfigError or UsageError if one of these keys has an unknown model, unless the
    configuration switches this plugin off. A provider may still lack its key."""
    named = [value for key, value in keys.items() if names_a_model(key)]
    labels = [label for value in named for label in ([value] if isinstance(value, str) else value)]
    if not any(labels):
        return
    _, config = survey(environ)
    if config is not None and "models" in switched(config).off:
        return
    providers = {} if config is None else config.providers
    for label in labels:
        await check_model(label, providers, environ, reachable=False)
