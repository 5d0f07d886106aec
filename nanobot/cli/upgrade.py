"""`nanobot upgrade`: the newest version, by whatever installed this one."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping

from nanobot import __version__
from nanobot.cli.output import say, warn
from nanobot.cli.service.manager import installed
from nanobot.errors import NanobotError
from nanobot.system import Installation

_SECONDS = 60.0


def run(environ: Mapping[str, str], *, show: bool, installation: Installation | None = None) -> int:
    """Run the commands, or print them; returns the exit code. A service that is installed is
    started again with what is new. Raises NanobotError naming the command that failed."""
    installation = installation or Installation()
    commands = installation.upgrading()
    for command in commands:
        say(shlex.join(command))
        if not show:
            _performed(command)
    if not show:
        _report(environ, installation)
    return 0


def _performed(command: list[str]) -> None:
    program = shutil.which(command[0])
    if program is None:
        raise NanobotError(f"{command[0]} is not on PATH: run the command where it is")
    done = subprocess.run([program, *command[1:]], check=False)  # noqa: S603 - see upgrading
    if done.returncode != 0:
        raise NanobotError(f"{shlex.join(command)} ended with {done.returncode}")


def _report(environ: Mapping[str, str], installation: Installation) -> None:
    """What there is now; and whoever serves gets it."""
    version = _version(installation)
    if version == __version__ and installation.kind != "checkout":
        say(f"nanobot {version} is the newest there is.")
        return
    say(f"nanobot {__version__} was here, {version or 'another version'} is.")
    services = installed(sys.platform, environ)
    for service in services:
        try:
            service.restart()
        except NanobotError as error:
            warn(f"the service keeps the old version: {error}")
        else:
            say(f"The service is started again: {service.file}")
    if not services:
        say("A gateway that runs keeps the old version until it is started again.")


def _version(installation: Installation) -> str:
    """Which one is installed now; "" if its Python does not say."""
    reply = [installation.python, "-c", "from nanobot import __version__; print(__version__)"]
    try:
        completed = subprocess.run(  # noqa: S603 - our own interpreter
            reply, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return completed.stdout.strip() if completed.returncode == 0 else ""
