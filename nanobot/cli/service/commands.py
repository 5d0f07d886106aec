"""`nanobot service`: install the gateway as a service, show its state, remove it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Annotated

import typer

from nanobot.cli.exit_codes import errors
from nanobot.cli.generated import example, subcommands
from nanobot.cli.output import piece, say

service = subcommands()

System = Annotated[
    bool, typer.Option("--system", help="For the whole machine (root), not for this user.")
]


def add(app: typer.Typer) -> None:
    """Add these commands to the command line."""
    app.add_typer(service, name="service", help="Run the gateway permanently, as a service.")


@service.command(
    "install", epilog=example("nanobot service install", "nanobot service install --print")
)
def install(
    context: typer.Context,
    system: System = False,
    user: Annotated[str, typer.Option(help="With --system: the user that it runs as.")] = "",
    show: Annotated[bool, typer.Option("--print", help="Print it; install nothing.")] = False,
) -> None:
    """Start the gateway now and at every boot.

    It uses your systemd, the machine's (--system), or launchd. Keys that the configuration takes
    from this shell's environment are saved in service.env of the home, which only its user can
    read; launchd keeps them in the job's file. Run it again after these change, or after an
    upgrade. The service restarts after a failure, but not with a wrong configuration.
    """
    with errors():
        _install(context.obj, system=system, user=user, show=show)


def _install(environ: Mapping[str, str], *, system: bool, user: str, show: bool) -> None:
    from nanobot.cli.service import manager, setup  # noqa: PLC0415 - loads more than --help needs

    definition, variables = setup.definition_of(environ, system=system, user=user)
    if show:
        piece(definition.unit())
        return
    chosen = manager.manager_of(sys.platform, environ, system=system)
    chosen.install(definition, variables)
    say(f"Installed and started: {chosen.file}")
    if variables:
        say(f"Copied from this shell's environment: {', '.join(variables)}")
    say("`nanobot service status` shows its state; its log: " + _log_command(system))


def _log_command(system: bool) -> str:
    if sys.platform == "darwin":
        return "the file logs/gateway.log of the home"
    return f"journalctl {'' if system else '--user '}-u nanobot"


@service.command("status", epilog=example("nanobot service status"))
def status(context: typer.Context, system: System = False) -> None:
    """Show the state of the service; exit code 1 if it does not run or is not installed."""
    from nanobot.cli.service.manager import manager_of  # noqa: PLC0415

    with errors():
        manager = manager_of(sys.platform, context.obj, system=system)
        text = manager.status()
        say(text or "Not installed. Run `nanobot service install`.")
        raise typer.Exit(0 if text and manager.is_active() else 1)


@service.command("uninstall", epilog=example("nanobot service uninstall"))
def uninstall(context: typer.Context, system: System = False) -> None:
    """Stop the service and remove it; configuration and conversations stay."""
    from nanobot.cli.service import manager, setup  # noqa: PLC0415

    with errors():
        try:
            removed = manager.manager_of(sys.platform, context.obj, system=system).uninstall()
        finally:
            setup.environment_file(context.obj).unlink(missing_ok=True)
        say("Stopped and removed." if removed else "It was not installed.")
