"""Changes of the configuration that a plugin has another one write."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from nanobot.seam.installed import Interface


class SettingChanges(msgspec.Struct, frozen=True, kw_only=True):
    """Changes of the configuration: `keys` with their values, `secrets` by their file names in the
    home. `more`: changes the text of config.toml after all that."""

    keys: Mapping[str, Any] = {}
    secrets: Mapping[str, str] = {}
    more: Callable[[str], str] | None = None


WRITE_SETTINGS: Interface[Callable[[Mapping[str, str], SettingChanges], Path]] = Interface(
    "write_settings"
)
"""Writes such changes into the home of an environment, all or none. Returns config.toml; raises
NanobotError."""
TYPED_SETTING: Interface[Callable[[str, str], Any]] = Interface("typed_setting")
"""Typed text as a value of a key; raises ConfigError."""
