"""What people see of the configuration."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from nanobot.plugins.common.keys.declared_keys import Applies, Kind
from nanobot.text import Sentence

Source: TypeAlias = Literal["default", "file", "environment"]
"""Where the value of a key comes from."""


class SettingView(msgspec.Struct, frozen=True, kw_only=True):
    """A key of the configuration with its effective value, secrets as ***."""

    key: str
    value: Any
    source: Source
    """The environment overrides the file."""
    written: Any = None
    """The file's value, if it differs."""
    applies: Applies = "restart"
    """When a change takes effect."""
    about: Sentence = ""
    kind: Kind | Literal[""] = ""
    """Its type, with all `choices`, or the range from `least` (excluded, if `above`) to `most`."""
    unit: str = ""
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    above: bool = False
    default: Any = None


class ModelOption(msgspec.Struct, frozen=True, kw_only=True):
    """A model that the configuration names. `use`: default, fallback, or "" for one that is only
    described there."""

    name: str
    use: Literal["default", "fallback", ""] = ""
