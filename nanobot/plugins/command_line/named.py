"""The part of the command line that the typed words name."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from copy import copy

import typer
from typer.main import get_command_name
from typer.models import CommandInfo

_HELP = frozenset({"--help", "-h"})


def named(app: typer.Typer, words: Sequence[str]) -> typer.Typer:
    """The same commands, or only the one that the first words name. The library builds a parser for
    each command, and to build all of them takes half of the time of a short command. The help of a
    group shows the names of its commands and groups, and needs no parser. Without such words (for a
    mistyped command) all are needed.
    """
    if not words:
        return app
    if len(words) == 1 and words[0] in _HELP:
        return _names_in(app)
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


def _names_in(app: typer.Typer) -> typer.Typer:
    """Commands and groups of the same names, without options and contents."""
    part = copy(app)
    part.registered_commands = [_unable(command) for command in app.registered_commands]
    part.registered_groups = []
    for group in app.registered_groups:
        empty = copy(group)
        if group.typer_instance is not None:
            empty.typer_instance = copy(group.typer_instance)
            empty.typer_instance.registered_commands = []
            empty.typer_instance.registered_groups = []
        part.registered_groups.append(empty)
    return part


def _unable(command: CommandInfo) -> CommandInfo:
    """A command with the name and the help of another one, which does nothing."""

    def nothing() -> None:
        return

    shown = copy(command)
    shown.name = _name_of(command)
    if command.help is None and not command.hidden:
        shown.help = inspect.getdoc(command.callback)
    shown.callback = nothing
    return shown


def _name_of(command: CommandInfo) -> str:
    if command.name or command.callback is None:
        return command.name or ""
    return get_command_name(command.callback.__name__)
