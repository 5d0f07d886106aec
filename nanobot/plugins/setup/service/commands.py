"""`nanobot service`, `upgrade`, `logs` and `uninstall`: the gateway as a service, and the program
on this machine."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Annotated

from nanobot.plugins.common.faces import Command, Option

# Modules imported within the functions load more than --help needs.

System = Annotated[bool, Option(about="For the whole machine (root), not for this user.")]


def commands() -> list[Command]:
    """The commands."""
    return [
        Command(
            name="service install",
            run=install,
            examples=("nanobot service install", "nanobot service install --print"),
        ),
        Command(name="service status", run=status, examples=("nanobot service status",)),
        Command(name="service uninstall", run=uninstall, examples=("nanobot service uninstall",)),
        Command(name="upgrade", run=upgrade, examples=("nanobot upgrade",)),
        Command(name="update", run=upgrade, hidden=True),
        Command(name="logs", run=logs, examples=("nanobot logs", "nanobot logs --follow")),
        Command(name="uninstall", run=uninstall_all, examples=("nanobot uninstall",)),
    ]


def install(
    environ: Mapping[str, str],
    *,
    system: System = False,
    user: Annotated[str, Option(about="With --system: the user that it runs as.")] = "",
    show: Annotated[bool, Option(about="Print it; install nothing.", flags=("--print",))] = False,
) -> None:
    """Start the gateway now and at every boot.

    It uses your systemd, the machine's (--system), or launchd. Keys that the configuration takes
    from this shell's environment are saved in service.env of the home, which only its user can
    read; launchd keeps them in the job's file. Run it again after these change, or after an
    upgrade. The service restarts after a failure, but not with a wrong configuration.
    """
    from nanobot.plugins.common.commands.output import piece, say  # noqa: PLC0415
    from nanobot.plugins.setup.service import home, manager  # noqa: PLC0415

    definition, variables = home.definition_of(environ, system=system, user=user)
    if show:
        piece(definition.unit())
        return
    chosen = manager.manager_of(sys.platform, environ, system=system)
    chosen.install(definition, variables)
    say(f"Installed and started: {chosen.file}")
    if variables:
        say(f"Copied from this shell's environment: {', '.join(variables)}")
    say("`nanobot service status` shows its state; its log: " + _log_command(system=system))


def _log_command(*, system: bool) -> str:
    if sys.platform == "darwin":
        return "the file logs/gateway.log of the home"
    return f"journalctl {'' if system else '--user '}-u nanobot"


def status(environ: Mapping[str, str], *, system: System = False) -> int:
    """Show the state of the service; exit code 1 if it does not run or is not installed."""
    from nanobot.plugins.common.commands.output import say  # noqa: PLC0415
    from nanobot.plugins.setup.service.manager import manager_of  # noqa: PLC0415

    manager = manager_of(sys.platform, environ, system=system)
    text = manager.status()
    say(text or "Not installed. Run `nanobot service install`.")
    return 0 if text and manager.is_active() else 1


def uninstall(environ: Mapping[str, str], *, system: System = False) -> None:
    """Stop the service and remove it; configuration and conversations stay."""
    from nanobot.plugins.common.commands.output import say  # noqa: PLC0415
    from nanobot.plugins.setup.service import home, manager  # noqa: PLC0415

    try:
        removed = manager.manager_of(sys.platform, environ, system=system).uninstall()
    finally:
        home.environment_file(environ).unlink(missing_ok=True)
    say("Stopped and removed." if removed else "It was not installed.")


def upgrade(
    environ: Mapping[str, str],
    *,
    show: Annotated[
        bool, Option(about="Print the commands; run none.", flags=("--print",))
    ] = False,
) -> int:
    """Install the newest version, as this one was installed, and start a service again with it."""
    from nanobot.plugins.setup.service.upgrade import run  # noqa: PLC0415

    return run(environ, show=show)


def logs(
    environ: Mapping[str, str],
    *,
    lines: Annotated[int, Option(about="Number of lines.", flags=("--lines", "-n"), least=1)] = 100,
    follow: Annotated[
        bool, Option(about="Print new lines until Ctrl-C.", flags=("--follow", "-f"))
    ] = False,
) -> int:
    """Show the log of the gateway, or of the service that runs it.

    It reads the journal of the systemd service, or logs/gateway.log of the home, which a gateway
    without a service writes (5 MB, and one older file).
    """
    from nanobot.plugins.setup.service.logs import show  # noqa: PLC0415

    return show(environ, lines=lines, follow=follow)


def uninstall_all(
    environ: Mapping[str, str],
    *,
    yes: Annotated[bool, Option(about="Do not ask.")] = False,
) -> int:
    """Remove the service and the link to the command.

    Configuration, conversations and the program stay; it prints how to remove them.
    """
    from nanobot.plugins.common.questions import confirmed  # noqa: PLC0415
    from nanobot.plugins.setup.service.removal import run  # noqa: PLC0415

    if not yes:
        confirmed("uninstall", "Stop and remove the service?")
    return run(environ)
