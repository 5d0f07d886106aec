"""The access token, created at the first start if none is configured."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from nanobot.errors import ConfigError

FILE = "web.token"
"""In the home, readable only for the owner of the process."""


def token_of(home: Path, configured: str) -> str:
    """The configured token, otherwise the one in the home, which is created if missing. It is never
    logged. Raises ConfigError.
    """
    if configured:
        return configured
    path = home / FILE
    try:
        token = _read(path)
        token = _written(path) if token is None else token
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"web.token: {path} cannot be read or written ({error}). Mend it, or set web.token."
        ) from None
    if not token:
        raise ConfigError(f"web.token: {path} is empty. Remove it, and the next start makes it.")
    return token


def _read(path: Path) -> str | None:
    try:
        return path.read_text("ascii").strip()
    except FileNotFoundError:
        return None


def _written(path: Path) -> str | None:
    """Created atomically: processes that start at the same time read the same token."""
    token = secrets.token_urlsafe(32)
    fresh = path.with_name(f".{FILE}.{os.getpid()}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(descriptor, f"{token}\n".encode())
    finally:
        os.close(descriptor)
    try:
        os.link(fresh, path)
    except FileExistsError:
        return _read(path)
    finally:
        fresh.unlink()
    return token
