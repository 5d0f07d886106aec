"""Typed text as a value of a key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args, get_origin

import msgspec
import tomlkit

from nanobot.config.plugin_tables import config_file
from nanobot.config.reader import OPEN
from nanobot.config.values import base_of, from_text


def typed_value(key: str, text: str) -> Any:
    """Typed text, converted to the key's type; for an adapter's keys, parsed as TOML."""
    hint = hint_of(key)
    base = base_of(hint)
    if base is None:
        return _toml(text)
    if get_origin(base) is tuple:
        parsed = _toml(text) if text.lstrip().startswith("[") else None
        if isinstance(parsed, list):
            return [str(item) for item in parsed]
        return [item.strip() for item in text.split(",") if item.strip()]
    if base is str or get_args(base):
        parsed = _toml(text)
        return parsed if isinstance(parsed, str) else text
    return from_text(hint, text)


def _toml(text: str) -> Any:
    try:
        return tomlkit.parse(f"x = {text}").unwrap()["x"]
    except tomlkit.exceptions.TOMLKitError:
        return text


def hint_of(key: str) -> Any:
    """The type of a key; None if it is unknown or only an adapter knows it."""
    kind: Any = config_file()
    for part in key.split("."):
        kind = base_of(kind)
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            kind = {field.name: field.type for field in msgspec.structs.fields(kind)}.get(part)
            kind = None if part == OPEN else kind
        elif get_origin(kind) is Mapping:
            kind = get_args(kind)[1]
        else:
            return None
    return kind
