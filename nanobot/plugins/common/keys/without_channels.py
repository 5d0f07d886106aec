"""The configuration of programs that serve no channel."""

from __future__ import annotations

from collections.abc import Mapping

from nanobot.config.loader import Config, load
from nanobot.errors import UnsetReference


def load_without_channels(environ: Mapping[str, str]) -> Config:
    """The configuration for a process without channels and hooks, which needs none of their
    secrets. Raises ConfigError."""
    unset: dict[str, str] = {}
    config = load(environ, unset)
    for key, text in unset.items():
        if not key.startswith(("channels.", "hooks.")):
            raise UnsetReference(text)
    return config
