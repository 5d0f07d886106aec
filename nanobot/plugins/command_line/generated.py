"""The commands that are generated from the list of operations."""

from __future__ import annotations

import inspect
import keyword
import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, Literal, TypeAlias

import typer
from typer.models import CommandInfo

from nanobot.cli.exit_codes import errors
from nanobot.errors import UsageError
from nanobot.messages import TERMINAL_SESSION
from nanobot.operations.operation import Operation
from nanobot.operations.parameters import Parameter, parsed
from nanobot.plugins.command_line.group import Group
from nanobot.seam.installed import installed

_GROUPS = {
    "sessions": "Conversations and their logs.",
}
_MOST_CHOICES = 5
_OPTION = "session_option"
REQUIRED = inspect.Parameter.empty
Words: TypeAlias = dict[str, tuple[Any, Any]]
"""Arguments and options by name, each with its type and its default."""


def add(app: typer.Typer, operations: Sequence[Operation]) -> dict[str, typer.Typer]:
    """Add a command for each operation to the command line. Operations of several words are in
    groups, which are returned by name.
    """
    groups: dict[str, typer.Typer] = {}
    about = sentences()
    for operation in operations:
        if operation.own_command:
            continue
        *path, name = operation.command.split()
        where = group_of(app, groups, path, about)
        where.registered_commands.append(OperationCommand(operation, name))
        if operation.alias:
            alias = OperationCommand(operation, operation.alias.split()[-1], is_alias=True)
            where.registered_commands.append(alias)
    return groups


def sentences() -> dict[str, str]:
    """The groups of commands, each with its sentence."""
    of_plugins = (found.plugin.groups for found in installed().found.values())
    return _GROUPS | {name: about for groups in of_plugins for name, about in groups.items()}


class OperationCommand(CommandInfo):
    """The command of an operation. Its function and its example are made when its parser or its own
    help needs them: a command line needs those of one command, and to make all took 50 ms."""

    def __init__(self, operation: Operation, name: str, *, is_alias: bool = False) -> None:
        text = None if is_alias else f"{operation.sentence}\n\n{operation.details}".rstrip()
        super().__init__(name, help=text, hidden=is_alias or not operation.listed)
        self._operation = operation
        self._is_alias = is_alias
        del self.callback, self.epilog  # which now come from below

    @cached_property
    def callback(self) -> Callable[..., None]:  # type: ignore[override]
        """The function, with its parameters as the library reads them."""
        return _command(self._operation)

    @cached_property
    def epilog(self) -> str | None:  # type: ignore[override]
        """An example at the end of its help."""
        return None if self._is_alias else example(command_example(self._operation))


def group_of(
    app: typer.Typer,
    groups: dict[str, typer.Typer],
    path: Sequence[str],
    about: Mapping[str, str],
) -> typer.Typer:
    """The group of these words, which is added if it is new; without words the command line.
    `about`: the sentences of groups."""
    where = app
    for depth, word in enumerate(path, 1):
        group = " ".join(path[:depth])
        if group not in groups:
            groups[group] = subcommands()
            where.add_typer(groups[group], name=word, help=about.get(group))
        where = groups[group]
    return where


def subcommands() -> typer.Typer:
    """A group of commands, which shows its help if no command is named."""
    return typer.Typer(cls=Group, no_args_is_help=True, rich_markup_mode=None)


def example(*lines: str) -> str:
    """The end of a command's help."""
    return "\n\n".join(f"Example: {line}" for line in lines)


def command_example(operation: Operation) -> str:
    """An example call on the command line."""
    words = ["nanobot", operation.command]
    values = parsed(operation.parameters, operation.example)
    for parameter in operation.parameters:
        if parameter.name not in values:
            continue
        value = values[parameter.name]
        flag = f"--{parameter.name.replace('_', '-')}"
        if parameter.positional:
            words.append(f'"{value}"' if parameter.rest else shlex.quote(value))
        elif parameter.kind is bool:
            words.append(flag if value == "true" else f"--no-{flag[2:]}")
        else:
            words += [flag, shlex.quote(value)]
    return " ".join(words)


def _command(operation: Operation) -> Callable[..., None]:
    def run(context: typer.Context, as_json: bool, **typed: Any) -> None:
        from nanobot.plugins.command_line.tables import shown  # noqa: PLC0415
        from nanobot.plugins.common.commands.performing import perform  # noqa: PLC0415 - loads more than --help needs
        from nanobot.plugins.common.questions import confirmed  # noqa: PLC0415

        with errors():
            if operation.confirm and not typed.pop("yes"):
                confirmed(operation.name, operation.confirm)
            arguments = {
                parameter.name: value
                for parameter in operation.parameters
                if (value := _given(parameter, typed)) is not None
            }
            operation.converted(arguments)
            perform(context.obj, operation, arguments, json=as_json, shown=shown)

    words: Words = {}
    for parameter in operation.parameters:
        hint: Any = Annotated[_kind(parameter), _declared(parameter)]
        words[_slot(parameter)] = (hint, REQUIRED if parameter.required else None)
        if parameter.session and parameter.positional:
            words[_OPTION] = (
                Annotated[str | None, typer.Option("--session", help="The same.")],
                None,
            )
    if operation.confirm:
        words["yes"] = (Annotated[bool, typer.Option("--yes", help="Do not ask.")], False)
    words["as_json"] = (Annotated[bool, typer.Option("--json", help="Print JSON.")], False)
    return taking(words, run)


def taking(words: Words, run: Callable[..., None]) -> Callable[..., None]:
    """The function of a command that takes these arguments and options, after its context."""
    words = {"context": (typer.Context, REQUIRED), **words}
    parameters = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)
        for name, (hint, default) in words.items()
    ]
    # The command-line library accepts both.
    vars(run)["__signature__"] = inspect.Signature(parameters)
    run.__annotations__ = {name: hint for name, (hint, _) in words.items()}
    return run


def _slot(parameter: Parameter) -> str:
    """The Python name, which must avoid keywords (`from`)."""
    return f"{parameter.name}_" if keyword.iskeyword(parameter.name) else parameter.name


def _in_words(parameter: Parameter) -> bool:
    """Whether it can be given as several words without quotes, as in a chat."""
    return parameter.positional and parameter.rest and parameter.kind is str


def _kind(parameter: Parameter) -> Any:
    """The type that the command line parses; None if the option is missing."""
    kind: Any = list[str] if _in_words(parameter) else parameter.kind
    if parameter.choices:
        kind = Literal[parameter.choices]
    return kind if parameter.required else kind | None


def _given(parameter: Parameter, typed: Mapping[str, Any]) -> Any:
    """The typed value; None if there was none."""
    value = typed[_slot(parameter)]
    if parameter.session and parameter.positional:
        option = typed[_OPTION]
        if value and option and value != option:
            raise UsageError(f"two sessions: {value} and {option}")
        return value or option
    return " ".join(value) if isinstance(value, list) else value


def _declared(parameter: Parameter) -> Any:
    text = parameter.description.rstrip(".")
    if parameter.session:
        text = f"The session (default: {TERMINAL_SESSION})"
    many = len(parameter.choices) > _MOST_CHOICES
    if many:
        text = f"{text}: {', '.join(parameter.choices)}"
    if parameter.default not in ("", None, False):
        text = f"{text} (default: {parameter.default})"
    text = f"{text}."
    if parameter.positional:
        return typer.Argument(metavar=parameter.name.upper(), help=text, show_default=False)
    flag = f"--{parameter.name.replace('_', '-')}"
    if parameter.kind is bool and parameter.default is None:
        flag = f"{flag}/--no-{flag[2:]}"
    metavar = parameter.name.upper() if many else None
    return typer.Option(flag, help=text, metavar=metavar, show_default=False)
