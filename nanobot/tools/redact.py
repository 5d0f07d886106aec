"""Removes the values of known secrets from texts for the model and the log."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterable, Mapping
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
    secrets |= {provider.api_key for provider in config.providers.values()}
    secrets |= _secrets_in({"tools": msgspec.to_builtins(config.tools)})
    secrets |= _secrets_in({name: _fields(table) for name, table in config.tables.items()})
    password = urlsplit(config.database_url).password
    secrets |= {unquote(password)} if password else set()
    for part in (config.channels, config.providers):
        for entry in part.values():
            secrets |= _secrets_in(entry.settings)
    for provider in config.providers.values():
        secrets |= secrets_in_url(provider.api_base)
    secrets |= _hidden_in(config.tables)
    return {secret for secret in secrets if secret}


def fields_of(table: msgspec.Struct) -> Mapping[str, Any]:
    """The keys of a table; a value that JSON cannot represent is returned unchanged."""
    return {field: _fields(getattr(table, field)) for field in table.__struct_fields__}


def _fields(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        return fields_of(value)
    if isinstance(value, Mapping):
        return {name: _fields(item) for name, item in value.items()}
    return value


def _hidden_in(value: Any) -> set[str]:
    """The secrets that the names of keys do not tell of, of all tables below."""
    below: Iterable[Any] = value.values() if isinstance(value, Mapping) else ()
    own = value.hidden_values() if isinstance(value, Settings) else set[str]()
    if isinstance(value, Settings):
        below = [getattr(value, key) for key in value.__struct_fields__]
    return own.union(*map(_hidden_in, below))


def _secrets_in(table: Mapping[str, Any]) -> set[str]:
    secrets: set[str] = set()
    for key, value in table.items():
        if isinstance(value, Mapping):
            secrets |= _secrets_in(value)
        elif isinstance(value, str):
            secrets |= {value} if is_secret(key) else secrets_in_url(value)
    return secrets
