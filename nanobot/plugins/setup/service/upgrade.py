"""`nanobot upgrade`: install the newest version, with the tool that installed this one."""

from __future__ import annotations

import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from nanobot import __version__
from nanobot.config.values import home_of
from nanobot.errors import NanobotError
from nanobot.plugins.common.commands.output import say, warn
from nanobot.plugins.setup.service.manager import installed
from nanobot.system import DISTRIBUTION, Installation

_SECONDS = 60.0


def run(environ: Mapping[str, str], *, show: bool, installation: Installation | None = None) -> int:
    """Run the commands, or print them; returns the exit code. An installed service is restarted
    with the new version. Raises NanobotError naming the command that failed."""
    installation = installation or Installation()
    before = _commit(installation)
    commands = commands_of(installation)
    for command in commands:
        say(shlex.join(command))
        if not show:
            _performed(command)
    if not show:
        _report(environ, installation, before)
    return 0


def commands_of(installation: Installation) -> list[list[str]]:
    """The commands that install the newest version, in order."""
    match installation.kind:
        case "pipx":
            return [["pipx", "upgrade", DISTRIBUTION]]
        case "uv":
            return [["uv", "tool", "upgrade", DISTRIBUTION]]
        case "checkout":
            folder = str(installation.checkout)
            make = ["make", "-C", folder, "install", f"VENV={installation.prefix}"]
            return [["git", "-C", folder, "pull", "--ff-only", "--no-stat"], make]
        case "pip":
            pip = [installation.python, "-m", "pip"]
            return [[*pip, "install", "--quiet", "--upgrade", DISTRIBUTION]]


def _performed(command: list[str]) -> None:
    program = shutil.which(command[0])
    if program is None:
        raise NanobotError(f"{command[0]} is not on PATH: run the command where it is")
    done = subprocess.run([program, *command[1:]], check=False)  # noqa: S603 - see commands_of
    if done.returncode != 0:
        raise NanobotError(f"{shlex.join(command)} ended with {done.returncode}")


def _report(environ: Mapping[str, str], installation: Installation, before: str) -> None:
    """Say which version is installed now, and restart the services with it."""
    version, commit = _version(installation), _commit(installation)
    if (version, commit) == (__version__, before):
        say(f"nanobot {_named(version, commit)} is the newest version.")
        return
    say(f"Upgraded from {_named(__version__, before)} to {_named(version, commit)}.")
    services = installed(sys.platform, environ)
    for service in services:
        try:
            service.restart()
        except NanobotError as error:
            warn(f"The service still runs the old version: {error}")
        else:
            say(f"Restarted the service: {service.file}")
    if not services and _is_served(home_of(environ)):
        say(
            f"The gateway of {home_of(environ)} still runs the old version. To restart it: "
            "nanobot restart --yes"
        )


def _named(version: str, commit: str) -> str:
    return (version or "an unknown version") + (f" ({commit})" if commit else "")


def _commit(installation: Installation) -> str:
    """The short hash of a checkout's commit; "" if there is none."""
    git = shutil.which("git")
    if installation.kind != "checkout" or git is None:
        return ""
    command = [git, "-C", str(installation.checkout), "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    return done.stdout.strip() if done.returncode == 0 else ""


def _is_served(home: Path) -> bool:
    """Whether a process listens on the control socket of this home."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as own, suppress(OSError):
        own.connect(str(home / "control.sock"))
        return True
    return False


def _version(installation: Installation) -> str:
    """The installed version; "" if its Python does not say."""
    reply = [installation.python, "-c", "from nanobot import __version__; print(__version__)"]
    try:
        completed = subprocess.run(  # noqa: S603 - our own interpreter
            reply, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return completed.stdout.strip() if completed.returncode == 0 else ""
