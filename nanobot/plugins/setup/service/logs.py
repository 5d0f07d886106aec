"""`nanobot logs`: the log of this home's gateway, from the journal or its file."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from nanobot.cli.logs import GATEWAY_LOG
from nanobot.config.loader import load
from nanobot.config.plugin_tables import switched
from nanobot.config.values import home_of
from nanobot.errors import ConfigError, NanobotError
from nanobot.plugins.common.commands.output import say, warn
from nanobot.plugins.common.gateway_log import log_file_of
from nanobot.plugins.setup.service.definition import UNIT
from nanobot.plugins.setup.service.log_lines import following, last_lines
from nanobot.plugins.setup.service.manager import Systemd, installed
from nanobot.seam.installed import provided
from nanobot.text import Sentence


def show(environ: Mapping[str, str], *, lines: int, follow: bool) -> int:
    """Print the newest lines, and with `follow` also new ones; returns the exit code. If the
    service is not running, use the file of a gateway that was started by hand. Raises NanobotError
    if there is no log.
    """
    file = log_file_of(home_of(environ))
    service = journal_of(environ)
    if service is not None and (service.is_active() or not file.exists()):
        return _from_journal(service, environ, lines, follow=follow)
    try:
        newest = last_lines(file, lines)
    except FileNotFoundError:
        raise NanobotError(_why_none(environ, file)) from None
    except OSError as error:
        raise NanobotError(f"{file} cannot be read: {error.strerror}") from None
    warn(f"{file}:")
    say(*newest)
    if follow:
        for line in following(file):
            say(line)
    return 0


def _why_none(environ: Mapping[str, str], file: Path) -> Sentence:
    with suppress(ConfigError):
        if provided(GATEWAY_LOG, switched(load(environ, {})).on) is None:
            return (
                f"there is no log: {file} is written by the plugin logs, which is off: "
                "`nanobot plugins on logs` switches it on"
            )
    return (
        f"there is no log: {file} is written while `nanobot gateway` runs, and "
        "`nanobot service install` has it run"
    )


def journal_of(environ: Mapping[str, str]) -> Systemd | None:
    """The service whose log systemd stores, if it belongs to this home."""
    for manager in installed(sys.platform, environ):
        if isinstance(manager, Systemd) and str(home_of(environ)) in manager.file.read_text(
            "utf-8", "replace"
        ):
            return manager
    return None


def journal_command(environ: Mapping[str, str]) -> list[str]:
    """The command that prints the log of the service of this home, without its options; empty if
    systemd stores none."""
    service = journal_of(environ)
    return [] if service is None else _reading(service)


def _reading(service: Systemd) -> list[str]:
    return ["journalctl", *service.scope, "--unit", UNIT, "--no-pager"]


def _from_journal(service: Systemd, environ: Mapping[str, str], lines: int, *, follow: bool) -> int:
    command = [*_reading(service), f"--lines={lines}"]
    if follow:
        command.append("--follow")
    try:
        return subprocess.run(command, env=dict(environ), check=False).returncode  # noqa: S603
    except OSError as error:
        raise NanobotError(f"journalctl could not be run: {error.strerror}") from error
