"""Keeps the values of known secrets out of what the model and the log see."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec

from nanobot.config.loader import Config
from nanobot.config.values import is_secret

SHORTEST = 8
"""Shorter ones are left alone: they would be found within ordinary words."""

_MASK = "[secret]"


class Redactor:
    """Replaces secrets wherever they stand in a text."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._known: set[str] = set()
        self._pattern: re.Pattern[str] | None = None
        self.also(*secrets)

    def also(self, *secrets: str) -> None:
        """Replace these, too."""
        self._known |= {one for one in secrets if len(one) >= SHORTEST}
        known = sorted(self._known, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, known))) if known else None

    def __call__(self, text: str) -> str:
        """The text without them."""
        return text if self._pattern is None else self._pattern.sub(_MASK, text)

    def patch(self, record: Any) -> None:
        """For loguru's `configure(patcher=...)`: a log line, with its trace, without them."""
        record["message"] = self(record["message"])
        failure = record["exception"]
        if failure is None or failure.value is None:
            return
        trace = "".join(traceback.format_exception(failure.value))
        if self(trace) != trace:
            record["message"] += f"\n{self(trace)}"
            record["exception"] = None


def secrets_of(config: Config, environ: Mapping[str, str]) -> set[str]:
    """The values that neither the model nor the log may see: keys, tokens and passwords of the
    configuration, and of the environment by their names."""
    found = {value for name, value in environ.items() if is_secret(name)}
    found |= {one.api_key for one in config.providers.values()} | {config.web.token}
    found |= {one.secret for one in config.hooks.values()}
    found |= _secrets_in(msgspec.to_builtins(config.tools))
    for channel in config.channels.values():
        found |= _secrets_in(channel.settings)
    for provider in config.providers.values():
        found |= _secrets_in(provider.settings)
    for trigger in config.triggers.values():
        found |= _secrets_in(trigger.settings)
    for server in config.mcp.values():
        found |= {*server.env.values(), *server.headers.values()}
    password = urlsplit(config.database_url).password
    return {one for one in found if one} | ({unquote(password)} if password else set())


def _secrets_in(table: Mapping[str, Any]) -> set[str]:
    found: set[str] = set()
    for key, value in table.items():
        if isinstance(value, Mapping):
            found |= _secrets_in(value)
        elif isinstance(value, str) and is_secret(key):
            found.add(value)
    return found
