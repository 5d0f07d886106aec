"""`nanobot uninstall`: removes the service and the link, and says what remains and how to remove
it.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from nanobot.config.values import home_of
from nanobot.errors import NanobotError
from nanobot.plugins.common.commands.output import say, warn
from nanobot.plugins.setup.service.home import environment_file
from nanobot.plugins.setup.service.manager import installed
from nanobot.system import DISTRIBUTION, Installation


def run(environ: Mapping[str, str], installation: Installation | None = None) -> int:
    """Remove everything outside of the home and the installation; returns the exit code: 1 if a
    service could not be removed.
    """
    installation = installation or Installation()
    code = 0
    for service in installed(sys.platform, environ):
        try:
            service.uninstall()
        except NanobotError as error:
            warn(f"nanobot: {error}")
            code = 1
        else:
            say(f"Stopped and removed the service: {service.file}")
        environment_file(environ).unlink(missing_ok=True)
    for link in links(environ, installation):
        link.unlink()
        say(f"Removed the link: {link}")
    _say_what_stays(environ, installation)
    return code


def links(environ: Mapping[str, str], installation: Installation) -> list[Path]:
    """The links on PATH to this installation's command, as created by `make install`."""
    command = Path(installation.python).with_name("nanobot")
    found = []
    for folder in dict.fromkeys(environ.get("PATH", "").split(os.pathsep)):
        link = Path(folder or ".") / "nanobot"
        with suppress(OSError):
            if link.is_symlink() and link.readlink() == command:
                found.append(link)
    return found


def _say_what_stays(environ: Mapping[str, str], installation: Installation) -> None:
    home = home_of(environ)
    remove = _removing(installation)
    say("", "Still here:")
    if home.exists():
        say(
            f"  {home}: configuration, keys, conversations, files. To delete all of it: "
            f"rm -r {shlex.quote(str(home))}"
        )
    say(f"  the program. To remove it: {remove}")
    say("A gateway that you started by hand runs until you stop it.")


def _removing(installation: Installation) -> str:
    match installation.kind:
        case "pipx":
            return f"pipx uninstall {DISTRIBUTION}"
        case "uv":
            return f"uv tool uninstall {DISTRIBUTION}"
        case "checkout":
            return f"rm -r {shlex.quote(str(installation.checkout))}"
        case "pip":
            return f"{shlex.quote(installation.python)} -m pip uninstall {DISTRIBUTION}"
