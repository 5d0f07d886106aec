"""The part of the command line that the typed words name."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import typer
from typer.main import get_command_name
from typer.models import CommandInfo


def named(app: typer.Typer, words: Sequence[str]) -> typer.Typer:
    """The same commands, or only the one that the first words name. The library builds a parser for
    each command, and to build all of them takes half of the time of a short command. Without such
    words (for help, or a mistyped command) all are needed.
    """
    if not words:
        return app
    groups = [group for group in app.registered_groups if group.name == words[0]]
    commands = [each for each in app.registered_commands if _name_of(each) == words[0]]
    if not groups and not commands:
        return app
    part = copy(app)
    part.registered_commands = commands
    part.registered_groups = []
    for group in groups:
        within = copy(group)
        if group.typer_instance is not None:
            within.typer_instance = named(group.typer_instance, words[1:])
        part.registered_groups.append(within)
    return part


def _name_of(command: CommandInfo) -> str:
    if command.name or command.callback is None:
        return command.name or ""
    return get_command_name(command.callback.__name__)
