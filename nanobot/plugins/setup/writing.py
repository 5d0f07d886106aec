"""Writes the configuration, as the plugin `configuration` does it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nanobot.errors import PluginBroken
from nanobot.plugins.common.keys.setting_changes import (
    TYPED_SETTING,
    WRITE_SETTINGS,
    SettingChanges,
)
from nanobot.seam.installed import provided

_NOTHING_WRITES = "no plugin writes the configuration"


def write(environ: Mapping[str, str], changes: SettingChanges) -> Path:
    """Write all changes or none; returns config.toml. Raises NanobotError."""
    writing = provided(WRITE_SETTINGS)
    if writing is None:
        raise PluginBroken(_NOTHING_WRITES)
    return writing(environ, changes)


def typed_value(key: str, text: str) -> Any:
    """Typed text as a value of a key. Raises NanobotError."""
    typed = provided(TYPED_SETTING)
    if typed is None:
        raise PluginBroken(_NOTHING_WRITES)
    return typed(key, text)
