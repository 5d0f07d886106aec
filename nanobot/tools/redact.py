"""Removes the values of known secrets from texts for the model and the log."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec

from nanobot.config.loader import Config
from nanobot.config.settings.base import Settings
from nanobot.config.values import is_secret, secrets_in_url

SHORTEST = 8
"""Shorter values are not replaced: they would match within ordinary words."""

_MASK = "[secret]"


class Redactor:
    """Replaces every occurrence of a secret in a text."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets: set[str] = set()
        self._pattern: re.Pattern[str] | None = None
        self.also(*secrets)

    def also(self, *secrets: str) -> None:
        """Replace these too."""
        self._secrets |= {secret for secret in secrets if len(secret) >= SHORTEST}
        longest_first = sorted(self._secrets, key=len, reverse=True)
        self._pattern = (
            re.compile("|".join(map(re.escape, longest_first))) if longest_first else None
        )

    def __call__(self, text: str) -> str:
        return text if self._pattern is None else self._pattern.sub(_MASK, text)

    def patch(self, record: Any) -> None:
        """For loguru's `configure(patcher=...)`: removes them from log lines and their traces."""
        record["message"] = self(record["message"])
        for name, value in record["extra"].items():
            if isinstance(value, str):
                record["extra"][name] = self(value)
        failure = record["exception"]
        if failure is None or failure.value is None:
            return
        trace = "".join(traceback.format_exception(failure.value))
        if self(trace) != trace:
            record["message"] += f"\n{self(trace)}"
            record["exception"] = None


def secrets_of(config: Config, environ: Mapping[str, str]) -> set[str]:
    """The values that neither the model nor the log may see: keys, tokens and passwords from the
    configuration, and from environment variables with such names.
    """
    secrets = {value for name, value in environ.items() if is_secret(name)}
    password = urlsplit(config.database_url).password
    secrets |= {unquote(password)} if password else set()
    for part in (config.tools, config.tables, config.channels, config.providers):
        secrets.update(_secrets_in("", part))
    return secrets - {""}


def _secrets_in(key: str, value: Any) -> Iterator[str]:
    """The secrets at a key and below it: by its name, within URLs, and those that the names of keys
    do not tell of."""
    if isinstance(value, str):
        yield from {value} if is_secret(key) else secrets_in_url(value)
    if isinstance(value, Settings):
        yield from value.hidden_values()
    if isinstance(value, msgspec.Struct):
        value = {name: getattr(value, name) for name in value.__struct_fields__}
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _secrets_in(name, inner)
