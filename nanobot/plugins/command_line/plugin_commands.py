"""The commands that plugins add to the command line."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import typer
from msgspec import Meta
from typer.models import CommandInfo

from nanobot.boundary import boundary
from nanobot.cli.exit_codes import errors
from nanobot.errors import PluginBroken, UsageError
from nanobot.operations.parameters import LARGEST
from nanobot.plugins.command_line.generated import Words, example, group_of, sentences, taking
from nanobot.plugins.common.faces import Command, Option
from nanobot.seam.given import listed
from nanobot.seam.installed import installed
from nanobot.seam.offers import NOTHING, Offers
from nanobot.seam.plugin import resolved

_KINDS = frozenset({str, int, float, bool, list[str]})


def add(app: typer.Typer, groups: dict[str, typer.Typer]) -> Command | None:
    """Add the commands of every plugin that is installed, on or off: a command line knows no
    configuration yet. `groups` are the groups that it has already, by name; new ones are added to
    them. A plugin that fails, or whose name is taken, adds none. Returns the command for words that
    are no command."""
    taken, about = set(_paths(app, groups)), sentences()
    leading: Command | None = None
    for name, found in installed().found.items():
        if found.plugin.commands is None:
            continue
        with boundary(f"commands of the plugin {name}"):
            new = _checked(Offers().call(resolved(found.plugin.commands), NOTHING))
            functions = {command.name: _function(command) for command in new}
            if clash := sorted(taken & set(functions)):
                raise PluginBroken(f"the name {clash[0]} is taken")
            leads = [command for command in new if command.leading]
            if len([*leads, *([leading] if leading else [])]) > 1:
                raise PluginBroken("another command gets the words that are no command")
            leading = next(iter(leads), leading)
            taken |= set(functions)
            for command in new:
                *path, last = command.name.split()
                epilog = example(*command.examples)
                group_of(app, groups, path, about).command(
                    last, epilog=epilog, hidden=command.hidden
                )(functions[command.name])
    return leading


def _paths(app: typer.Typer, groups: Mapping[str, typer.Typer]) -> list[str]:
    """The names that commands and groups have already."""
    own = [_name(each) for each in app.registered_commands]
    below = [
        f"{group} {_name(each)}"
        for group, commands in groups.items()
        for each in commands.registered_commands
    ]
    return [*own, *groups, *below]


def _checked(given: Any) -> Sequence[Command]:
    commands = listed(given, Command)
    for each in commands:
        if not each.name.split():
            raise PluginBroken("one of its commands has no name")
    return commands


def _function(command: Command) -> Callable[..., None]:
    """The command for the library of the command line, with its options. Raises PluginBroken."""

    def run(context: typer.Context, **options: Any) -> None:
        with errors():
            _check_size(options)
            code = command.run(context.obj, **options)
        if code:
            raise typer.Exit(code)

    wanted = get_type_hints(command.run, include_extras=True)
    words: Words = {}
    for parameter in list(inspect.signature(command.run).parameters.values())[1:]:
        hint = _option(command.name, parameter, wanted.get(parameter.name))
        words[parameter.name] = (hint, parameter.default)
    run.__doc__ = command.run.__doc__
    return taking(words, run)


def _check_size(options: Mapping[str, Any]) -> None:
    """Raises UsageError for a number that neither a database nor JSON can hold."""
    for name, value in options.items():
        if isinstance(value, int) and abs(value) > LARGEST:
            raise UsageError(f"`{name}` is too large: at most {LARGEST:,}")


def _option(command: str, parameter: inspect.Parameter, hint: Any) -> Any:
    kind, metas = getattr(hint, "__origin__", hint), getattr(hint, "__metadata__", ())
    option = next((meta for meta in metas if isinstance(meta, Option)), None)
    has_default = parameter.default is not parameter.empty or (
        option and (option.words or option.needed)
    )
    if parameter.kind is not parameter.KEYWORD_ONLY or not _is_kind(kind) or not has_default:
        raise PluginBroken(
            f"the option {parameter.name} of its command {command} is not keyword-only, has no "
            "default, or is none of str, int, float, bool and list[str]"
        )
    if option is None:
        about = next((meta.description for meta in metas if isinstance(meta, Meta)), None)
        flags = [f"--{parameter.name.replace('_', '-')}"]
        metavar = None if kind is bool else parameter.name.upper()
        return Annotated[
            kind, typer.Option(*flags, help=about, metavar=metavar, show_default=False)
        ]
    more: dict[str, Any] = {"help": option.about, "metavar": option.metavar or None}
    if option.words:
        return Annotated[kind, typer.Argument(**more)]
    flags = [*option.flags] or [f"--{parameter.name.replace('_', '-')}"]
    return Annotated[kind, typer.Option(*flags, min=option.least, max=option.most, **more)]


def _is_kind(kind: Any) -> bool:
    if get_origin(kind) in (Union, UnionType):
        inner = [each for each in get_args(kind) if each is not NoneType]
        return len(inner) == 1 and _is_kind(inner[0])
    if get_origin(kind) is Literal:
        return all(isinstance(each, str) for each in get_args(kind))
    return kind in _KINDS


def _name(registered: CommandInfo) -> str:
    if registered.name:  # that of an operation, whose function is not needed yet
        return registered.name
    return getattr(registered.callback, "__name__", "").replace("_", "-")
