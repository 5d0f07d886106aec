"""`nanobot upgrade`: the newest version, by whatever installed this one."""

from __future__ import annotations

import shlex
import shutil
import subprocess

from nanobot.cli.output import say
from nanobot.errors import NanobotError
from nanobot.system import Installation


def run(*, show: bool, installation: Installation | None = None) -> int:
    """Run the commands, or print them; returns the exit code. Raises NanobotError naming the one
    that failed."""
    commands = (installation or Installation()).upgrading()
    for command in commands:
        say(shlex.join(command))
        if show:
            continue
        program = shutil.which(command[0])
        if program is None:
            raise NanobotError(f"{command[0]} is not on PATH: run the command where it is")
        done = subprocess.run([program, *command[1:]], check=False)  # noqa: S603 - see upgrading
        if done.returncode != 0:
            raise NanobotError(f"{shlex.join(command)} ended with {done.returncode}")
    if not show:
        say("Done. What runs keeps the old version until it is started again;")
        say("a service is renewed by: nanobot service install")
    return 0
