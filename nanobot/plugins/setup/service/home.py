"""The service of this home: its command, its folders, and the variables it needs."""

from __future__ import annotations

import pwd
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from nanobot.config.loader import load
from nanobot.config.values import home_of
from nanobot.errors import UsageError
from nanobot.plugins.common.models.known_providers import KNOWN_PROVIDERS
from nanobot.plugins.setup.service.definition import Definition

_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
# Other variables that change how the gateway connects to the internet.
_ALSO = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "TZ")
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def definition_of(
    environ: Mapping[str, str], *, system: bool, user: str
) -> tuple[Definition, dict[str, str]]:
    """The service of this home, and the variables for it. Raises ConfigError for a configuration
    that would not start, and UsageError for an unknown user.
    """
    config = load(environ)
    if user and not system:
        raise UsageError("--user requires --system; without it, the service runs as you")
    if system and not user:
        raise UsageError("name the user that the service runs as: --system --user NAME (not root)")
    if user:
        _check_user(user)
    definition = Definition(
        home=config.home,
        command=(sys.executable, "-m", "nanobot", "gateway"),
        writable=tuple(dict.fromkeys((config.home, config.workspace))),
        environment=environment_file(environ),
        path=environ.get("PATH") or _PATH,
        drain_seconds=config.drain_seconds,
        user=user,
    )
    return definition, needed(config.file, environ)


def environment_file(environ: Mapping[str, str]) -> Path:
    """Where the variables of a systemd service are stored."""
    return home_of(environ) / "service.env"


def needed(file: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """The variables of `environ` that the configuration refers to, that override its keys, or that
    hold a provider's key.
    """
    text = file.read_text("utf-8") if file.exists() else ""
    names = {*_REFERENCE.findall(text), *_ALSO}
    names.update(
        name
        for provider in KNOWN_PROVIDERS.values()
        for name in (*provider.env, *provider.base_env)
    )
    return {
        name: value
        for name, value in sorted(environ.items())
        if name in names or (name.startswith("NANOBOT_") and name != "NANOBOT_HOME")
    }


def _check_user(user: str) -> None:
    try:
        pwd.getpwnam(user)
    except KeyError:
        raise UsageError(
            f"there is no user {user}: `useradd --system --create-home {user}` makes one"
        ) from None
