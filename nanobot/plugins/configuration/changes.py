"""Changes of the configuration (keys, secrets in separate files), applied entirely or not at
all."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from nanobot.config.loader import Config, home_of
from nanobot.config.values import content_of, is_secret
from nanobot.errors import NanobotError, UsageError
from nanobot.plugins.common.keys import config_file as configfile
from nanobot.plugins.common.keys.setting_changes import SettingChanges
from nanobot.plugins.configuration.template import written
from nanobot.plugins.configuration.typed import typed_value

_KEY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/@-]{0,199}")
_REFERENCE = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}|file:.+")


def typed_changes(values: Mapping[str, str]) -> SettingChanges:
    """The changes for typed values. A secret goes into a separate file, unless the value refers to
    one (${VARIABLE} or file:PATH). Raises UsageError for an unknown key."""
    keys: dict[str, Any] = {}
    secrets: dict[str, str] = {}
    for key, text in values.items():
        check_key(key)
        if is_secret(key) and text and not _REFERENCE.fullmatch(text):
            name = f"secrets/{key.replace('/', '_')}"
            secrets[name], keys[key] = text, f"file:{name}"
        else:
            keys[key] = typed_value(key, text)
    return SettingChanges(keys=keys, secrets=secrets)


def check_key(key: str) -> None:
    """Raises UsageError for a text that cannot be a key."""
    if not _KEY.fullmatch(key):
        raise UsageError(f"{key[:80]!r} is not a key of the configuration")


def write(
    environ: Mapping[str, str],
    changes: SettingChanges,
    check: Callable[[Config], None] | None = None,
) -> Path:
    """Write all changes or none. Returns config.toml. Raises as `configfile.change`, or as `check`
    does for the resulting configuration."""
    home = home_of(environ)
    before = {name: _content(home / name) for name in changes.secrets}
    for name, secret in changes.secrets.items():
        configfile.write(home / name, f"{secret}\n".encode())
    try:
        return configfile.change(environ, partial(_edited, changes), check)
    except NanobotError:
        for name, content in before.items():
            if content is None:
                (home / name).unlink(missing_ok=True)
            else:
                configfile.write(home / name, content)
        raise


def _edited(changes: SettingChanges, text: str) -> str:
    if changes.keys or changes.more is not None:
        text = written(text, changes.keys)
    return text if changes.more is None else changes.more(text)


def _content(path: Path) -> bytes | None:
    return content_of(path) if path.exists() else None
