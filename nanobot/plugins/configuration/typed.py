"""Typed text as a value of a key."""

from __future__ import annotations

from typing import Any, get_args, get_origin

import tomlkit

from nanobot.config.values import base_of, from_text
from nanobot.plugins.common.keys.declared_keys import hint_of


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
