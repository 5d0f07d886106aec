"""The configuration without anything that people wrote into it, apart from choices and numbers.

A mask for secrets would not be enough: keys also hold the ids of people, paths and the names of
their companies. So a value is shown only if its declaration says that it cannot be one of these:
numbers, switches, choices, and defaults. The names of models are shown, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from nanobot.config.loader import Config
from nanobot.config.plugin_tables import config_file
from nanobot.config.reader import OPEN
from nanobot.config.settings.base import Settings
from nanobot.plugins.common.keys.declared_keys import Key, declarations, keys_of
from nanobot.plugins.common.models.known_providers import KNOWN_PROVIDERS
from nanobot.plugins.diagnostics.own_words import OwnWords

_SHOWN = frozenset({"boolean", "integer", "number", "choice"})
_MODELS = frozenset({"model", "models", "fallback_models", "judge", "embedding_model"})
_OF_ADAPTERS = frozenset({"channels", "providers", "triggers"})
_TUNED = "ft:"


def configuration(config: Config, own: OwnWords, problems: Iterable[str] = ()) -> str:
    """Keys that differ from their defaults, then the others."""
    names = _declared_names(config_file())
    changed, usual = list[str](), list[str]()
    for key in keys_of(config):
        is_default = key.declared is not None and key.value == key.declared.default
        line = f"{_name(key.name, names, own)} = {_value(key, own, is_default=is_default)}"
        (usual if is_default else changed).append(line)
    said = [f"! {own(problem)}" for problem in (*problems, *config.warnings)]
    return "\n".join([*said, "# Changed:", *changed, "", "# Defaults:", *usual])


def known_words(surveyed: Config) -> dict[str, str]:
    """Texts of the configuration that may be shown, each with the text to show: places, and
    models. The configuration is that of the file now."""
    words = {
        str(surveyed.file): "$NANOBOT_HOME/config.toml",
        str(surveyed.home): "$NANOBOT_HOME",
        str(surveyed.workspace): "$WORKSPACE",
    }
    labels = (surveyed.agent.model, *surveyed.agent.fallback_models)
    return words | {label: label for label in labels if _is_public(label)}


def _is_public(label: str) -> bool:
    """Whether a model's name says nothing of its owner."""
    provider, slash, _ = label.partition("/")
    return _TUNED not in label and (not slash or provider in {*KNOWN_PROVIDERS, "embedded"})


def _declared_names(table: type[Settings]) -> frozenset[str]:
    """The names of all keys that are declared anywhere."""
    names, waiting, seen = set[str](), [table], set[type[Settings]]()
    while waiting:
        each = waiting.pop()
        if each in seen:
            continue
        seen.add(each)
        names |= set(declarations(each))
        waiting += [kind for field in msgspec.structs.fields(each) for kind in _tables(field.type)]
    return frozenset(names - {OPEN})


def _tables(hint: Any) -> Iterator[type[Settings]]:
    """The tables within a type."""
    if isinstance(hint, type) and issubclass(hint, Settings):
        yield hint
    for inner in (getattr(hint, "__origin__", None), *getattr(hint, "__args__", ())):
        if inner is not None:
            yield from _tables(inner)


def _name(path: str, declared: frozenset[str], own: OwnWords) -> str:
    """A key without the names that people chose."""
    parts = path.split(".")
    return ".".join(
        part
        if place == 0 or part in declared or part in KNOWN_PROVIDERS or _is_adapters(parts, place)
        else own.name(part)
        for place, part in enumerate(parts)
    )


def _is_adapters(parts: list[str], place: int) -> bool:
    """Whether a part is a key that only an adapter knows, not a name that people chose."""
    last = parts[place]
    return (
        parts[0] in _OF_ADAPTERS
        and place == 2
        and len(parts) == 3
        and last.isidentifier()
        and last.islower()
        and last.isascii()
    )


def _value(key: Key, own: OwnWords, *, is_default: bool) -> str:
    value, kind = key.value, "" if key.declared is None else key.declared.kind
    if value is None or value in ("", (), []):
        return "(empty)"
    if kind == "secret":
        return "***"
    if isinstance(value, tuple) and key.declared is not None:
        if is_default or key.declared.choices:
            return ", ".join(map(str, value))
    elif is_default or kind in _SHOWN or isinstance(value, bool):
        return str(value)
    if key.name.rsplit(".", 1)[-1] in _MODELS:
        labels = (value,) if isinstance(value, str) else tuple(map(str, value))
        return ", ".join(label if _is_public(label) else "(a model)" for label in labels)
    return str(value) if isinstance(value, str) and own.knows(value) else _size(value)


def _size(value: Any) -> str:
    if isinstance(value, str | Path):
        return f"(text of {len(str(value))} characters)"
    if isinstance(value, tuple | list):
        return "(1 entry)" if len(value) == 1 else f"({len(value)} entries)"
    if isinstance(value, Mapping):
        return "(table of 1 key)" if len(value) == 1 else f"(table of {len(value)} keys)"
    return f"(a {type(value).__name__})"
