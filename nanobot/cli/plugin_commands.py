"""The commands that plugins add to the command line."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

import typer
from msgspec import Meta
from typer.models import CommandInfo

from nanobot.boundary import boundary
from nanobot.cli.generated import example
from nanobot.errors import PluginBroken
from nanobot.seam.faces import Command
from nanobot.seam.installed import installed
from nanobot.seam.offers import NOTHING, Offers
from nanobot.seam.plugin import resolved

_KINDS = frozenset({str, int, float, bool})


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
            functions = {command.name: _function(command) for command in map(_checked, new)}
            if clash := sorted(taken & set(functions)):
                raise PluginBroken(f"the name {clash[0]} is taken")
            taken |= set(functions)
            for command in new:
                epilog = example(*command.examples)
                app.command(command.name, epilog=epilog)(functions[command.name])


def _checked(given: Any) -> Command:
    if not isinstance(given, Command):
        kind = type(given).__name__
        raise PluginBroken(f"it gives a {kind}, not a nanobot.seam.faces.Command")
    return given


def _function(command: Command) -> Callable[..., None]:
    """The command for the library of the command line, with its options. Raises PluginBroken."""

    def run(context: typer.Context, **options: Any) -> None:
        command.run(context.obj, **options)

    hints: dict[str, Any] = {"context": typer.Context}
    parameters = [_keyword("context", typer.Context)]
    wanted = get_type_hints(command.run, include_extras=True)
    for parameter in list(inspect.signature(command.run).parameters.values())[1:]:
        hint = _option(command.name, parameter, wanted.get(parameter.name))
        hints[parameter.name] = hint
        parameters.append(_keyword(parameter.name, hint, parameter.default))
    # The command-line library accepts both.
    vars(run)["__signature__"] = inspect.Signature(parameters)
    run.__annotations__, run.__doc__ = hints, command.run.__doc__
    return run


def _option(command: str, parameter: inspect.Parameter, hint: Any) -> Any:
    kind, metas = getattr(hint, "__origin__", hint), getattr(hint, "__metadata__", ())
    has_default = parameter.default is not parameter.empty
    if parameter.kind is not parameter.KEYWORD_ONLY or kind not in _KINDS or not has_default:
        raise PluginBroken(
            f"the option {parameter.name} of its command {command} is not keyword-only, has no "
            "default, or is none of str, int, float and bool"
        )
    about = next((meta.description for meta in metas if isinstance(meta, Meta)), None)
    flag = f"--{parameter.name.replace('_', '-')}"
    metavar = None if kind is bool else parameter.name.upper()
    return Annotated[kind, typer.Option(flag, help=about, metavar=metavar, show_default=False)]


def _keyword(name: str, hint: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _name(registered: CommandInfo) -> str:
    function = registered.callback
    return registered.name or getattr(function, "__name__", "").replace("_", "-")
