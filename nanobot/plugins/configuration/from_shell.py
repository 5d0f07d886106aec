"""`nanobot config set`: through the running gateway, otherwise only in the file."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import msgspec

from nanobot.config.loader import survey
from nanobot.config.values import home_of
from nanobot.operations.home import ChangedSettings
from nanobot.plugins.common.control.client import call
from nanobot.plugins.common.models.known_models import NAMED_MODELS
from nanobot.plugins.configuration.changes import typed_changes, write
from nanobot.plugins.configuration.operations import changed_text, without_effect
from nanobot.plugins.configuration.owners import switched_off
from nanobot.seam.installed import provided


def set_key(environ: Mapping[str, str], key: str, value: str, *, force: bool = False) -> str:
    """Write a key, and say when it takes effect. Raises ConfigError and UsageError; unless forced,
    also for an unknown model.
    """
    socket = home_of(environ) / "control.sock"
    raw = asyncio.run(call(socket, "config set", {"key": key, "text": value, "force": force}))
    if raw is None:
        changes = typed_changes({key: value})
        check = None if force else provided(NAMED_MODELS)
        if check is not None:
            asyncio.run(check(changes.keys, environ))
        file = write(environ, changes)
        _, config = survey(environ)
        off = [] if config is None else switched_off([key], config)
        effects = [*map(without_effect, off)] or ["It takes effect when nanobot starts."]
        return " ".join([f"{key}: written into {file}.", *effects])
    return changed_text(msgspec.json.decode(raw, type=ChangedSettings))
