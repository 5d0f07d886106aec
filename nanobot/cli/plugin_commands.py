"""The commands that plugins add to the command line."""

from __future__ import annotations

import typer
from typer.models import CommandInfo

from nanobot.boundary import boundary
from nanobot.cli.generated import example
from nanobot.errors import PluginBroken
from nanobot.seam.faces import Command
from nanobot.seam.installed import installed
from nanobot.seam.offers import NOTHING, Offers
from nanobot.seam.plugin import resolved


def add(app: typer.Typer) -> None:
    """Add the commands of every plugin that is installed, on or off: a command line knows no
    configuration yet. A plugin that fails, or whose name is taken, adds none."""
    commands = [_name(each) for each in app.registered_commands]
    taken = {*commands, *(str(group.name) for group in app.registered_groups)}
    for name, found in installed().found.items():
        if found.plugin.commands is None:
            continue
        with boundary(f"commands of the plugin {name}"):
            new = list(Offers().call(resolved(found.plugin.commands), NOTHING) or ())
            for command in new:
                if not isinstance(command, Command):
                    kind = type(command).__name__
                    raise PluginBroken(f"it gives a {kind}, not a nanobot.seam.faces.Command")
                if command.name in taken:
                    raise PluginBroken(f"the name {command.name} is taken")
            for command in new:
                taken.add(command.name)
                app.command(command.name, epilog=example(*command.examples))(command.run)


def _name(registered: CommandInfo) -> str:
    function = registered.callback
    return registered.name or getattr(function, "__name__", "").replace("_", "-")
