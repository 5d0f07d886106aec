"""What people see of the configuration."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from nanobot.plugins.common.declared_keys import Applies, Kind
from nanobot.text import Sentence

Source: TypeAlias = Literal["default", "file", "environment"]
"""Where the value of a key comes from."""


class SettingView(msgspec.Struct, frozen=True, kw_only=True):
    """A key of the configuration with its effective value, secrets as ***. `source`: default, file
    or environment, which overrides the file. `written`: the file's value, if it differs.
    `applies`: when a change takes effect. `about` describes the key; `kind` is its type, with all
    `choices`, or the range from `least` (excluded, if `above`) to `most`."""

    key: str
    value: Any
    source: Source
    written: Any = None
    applies: Applies = "restart"
    about: Sentence = ""
    kind: Kind | Literal[""] = ""
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
