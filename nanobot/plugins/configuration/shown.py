"""The values of keys as people see them, with their sources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec

from nanobot.config.loader import Config, home_of, load
from nanobot.config.reader import OPEN
from nanobot.config.settings.base import Settings
from nanobot.config.values import content_of, masked, variable_of
from nanobot.errors import UsageError
from nanobot.plugins.common.keys.config_file import tree
from nanobot.plugins.configuration.views import Source

_NOT_WRITTEN = frozenset({"home", "file", "warnings", "tables"})


def values(environ: Mapping[str, str]) -> dict[str, Any]:
    """Every current key, including defaults; secrets as ***. Raises ConfigError."""
    return dict(shown(load(environ, unset={})))


def shown(config: Config) -> Iterator[tuple[str, Any]]:
    """Every key of a configuration with its value; secrets as ***."""
    for key in (*config.__struct_fields__, *config.tables):
        if key not in _NOT_WRITTEN:
            yield from _shown(key, config.value(key))


def _shown(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, msgspec.Struct):
        for key in value.__struct_fields__:
            # Settings of an adapter are written in its table, next to the keys of all adapters.
            below = path if key == OPEN else f"{path}.{key}"
            own = value.shown_value(key) if isinstance(value, Settings) else getattr(value, key)
            yield from _shown(below, own)
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _shown(f"{path}.{name}", item)
    elif isinstance(value, tuple | list):
        yield path, [_plain(item) for item in value]
    elif value is not None:
        yield path, str(value) if isinstance(value, Path) else masked(path, value)


def _plain(item: Any) -> Any:
    """A list item as TOML has it: unset keys are left out."""
    if not isinstance(item, msgspec.Struct):
        return item
    fields = msgspec.to_builtins(item)
    return {key: value for key, value in fields.items() if value is not None}


def chosen(environ: Mapping[str, str], key: str) -> dict[str, Any]:
    """The values of a key or of a table ("": all). Raises UsageError for an unknown one."""
    every = values(environ)
    below = f"{key}."
    picked = {name: v for name, v in every.items() if name == key or name.startswith(below)}
    if not key:
        return every
    if not picked:
        near = get_close_matches(key, every, n=1)
        raise UsageError(f"there is no key {key}" + (f"; did you mean {near[0]}?" if near else ""))
    return picked


def sourced(environ: Mapping[str, str]) -> Iterator[tuple[str, Any, Source]]:
    """Every key for the next start with its source: default, file or environment; secrets as ***.
    Raises ConfigError."""
    file = home_of(environ) / "config.toml"
    text = content_of(file).decode("utf-8-sig", "replace") if file.exists() else ""
    written = set(_keys(tree(text)))
    for key, value in values(environ).items():
        if environ.get(variable_of(key)):
            yield key, value, "environment"
        else:
            yield key, value, "file" if key in written else "default"


def _keys(table: Any, path: str = "") -> Iterator[str]:
    if not isinstance(table, Mapping):
        yield path
        return
    for name, value in table.items():
        yield from _keys(value, f"{path}.{name}" if path else str(name))
