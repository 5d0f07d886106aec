"""Changes of the configuration (keys, secrets in separate files), applied entirely or not at
all."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from nanobot.app.admin.config_template import written
from nanobot.config import file as configfile
from nanobot.config.loader import Config, home_of
from nanobot.config.values import is_secret
from nanobot.errors import NanobotError, UsageError

_KEY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/@-]{0,199}")
_REFERENCE = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}|file:.+")


class SettingChanges(msgspec.Struct, frozen=True, kw_only=True):
    """Changes to write: `keys` with their values, `removed` keys, `secrets` by their file names in
    the home. `more`: changes the text of config.toml after all that."""

    keys: Mapping[str, Any] = {}
    removed: tuple[str, ...] = ()
    secrets: Mapping[str, str] = {}
    more: Callable[[str], str] | None = None

    @classmethod
    def of(cls, values: Mapping[str, str | None]) -> SettingChanges:
        """The changes for typed values. A secret goes into a separate file, unless the value refers
        to one (${VARIABLE} or file:PATH). Raises UsageError for an unknown key."""
        keys: dict[str, Any] = {}
        secrets: dict[str, str] = {}
        for key, text in values.items():
            if not _KEY.fullmatch(key):
                raise UsageError(f"{key[:80]!r} is not a key of the configuration")
            if text is None:
                continue
            if is_secret(key) and text and not _REFERENCE.fullmatch(text):
                name = f"secrets/{key.replace('/', '_')}"
                secrets[name], keys[key] = text, f"file:{name}"
            else:
                keys[key] = configfile.typed_value(key, text)
        removed = tuple(key for key, text in values.items() if text is None)
        return cls(keys=keys, removed=removed, secrets=secrets)

    def write(
        self, environ: Mapping[str, str], check: Callable[[Config], None] | None = None
    ) -> Path:
        """Write all changes. Returns config.toml. Raises as `configfile.put`, or as `check` does
        for the resulting configuration; then nothing is written."""
        home = home_of(environ)
        before = {name: _content(home / name) for name in self.secrets}
        for name, secret in self.secrets.items():
            configfile.write(home / name, f"{secret}\n".encode())
        try:
            return configfile.change(environ, self._edited, check)
        except NanobotError:
            for name, content in before.items():
                if content is None:
                    (home / name).unlink(missing_ok=True)
                else:
                    configfile.write(home / name, content)
            raise

    def _edited(self, text: str) -> str:
        for key in self.removed:
            text = configfile.without(text, key)
        if self.keys or self.more is not None:
            text = written(text, self.keys)
        return text if self.more is None else self.more(text)


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None
