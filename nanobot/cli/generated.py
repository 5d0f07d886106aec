"""The commands of the command line that are made from the list of operations."""

from __future__ import annotations

import inspect
import keyword
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from nanobot.cli.exit_codes import errors
from nanobot.errors import UsageError
from nanobot.operations.operation import Operation
from nanobot.operations.parameters import Parameter

_GROUPS = {
    "sessions": "Conversations: what was said, and the log behind it.",
    "runs": "What the assistant did for each message, and what it does now.",
    "outbox": "Messages to chats, and how their delivery stands.",
    "context": "What the model is shown.",
    "skills": "Pages on how to do things, for the model to open.",
    "tools": "What the model may do, and what it did.",
    "pair": "People: who asks to be let in, and who was.",
    "cron": "Jobs: what is done by the clock.",
    "hooks": "Webhooks: what other services tell by HTTP.",
    "approvals": "What waits for somebody's word.",
    "policy": "What the model may do, and why.",
    "mcp": "Servers of the Model Context Protocol, whose tools the assistant has.",
    "memory": "What is remembered of people and groups.",
    "audit": "Proof that the log is as it was written.",
}
_KEYWORD = inspect.Parameter.KEYWORD_ONLY


def add(app: typer.Typer, operations: Sequence[Operation]) -> dict[str, typer.Typer]:
    """Give the command line a command for each operation, those of two words in groups, which are
    returned by name."""
    groups: dict[str, typer.Typer] = {}
    for operation in operations:
        *path, name = operation.command.split()
        where = app
        if path:
            (group,) = path
            if group not in groups:
                groups[group] = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
                app.add_typer(groups[group], name=group, help=_GROUPS.get(group, ""))
            where = groups[group]
        sentence = f"{operation.help[0].upper()}{operation.help[1:]}."
        where.command(name, help=sentence)(_command(operation))
        if operation.alias:
            where.command(operation.alias.split()[-1], hidden=True)(_command(operation))
    return groups


def _command(operation: Operation) -> Callable[..., None]:
    def run(context: typer.Context, as_json: bool, **given: Any) -> None:
        from nanobot.cli.calls import perform  # noqa: PLC0415 - loads more than --help needs

        with errors():
            if operation.confirm and not given.pop("yes"):
                _ask(operation)
            named = {one.name: _given(one, given[_slot(one)]) for one in operation.parameters}
            if "path" in named:  # whoever performs it may stand in another folder
                named["path"] = str(Path(named["path"]).expanduser().absolute())
            operation.converted(named)
            perform(context.obj, operation, named, json=as_json)

    hints: dict[str, Any] = {"context": typer.Context}
    defaults: dict[str, Any] = {"context": inspect.Parameter.empty}
    for one in operation.parameters:
        kind = list[str] if _in_words(one) else one.kind
        hints[_slot(one)] = Annotated[kind, _declared(one)]
        default = () if _in_words(one) else one.default
        defaults[_slot(one)] = inspect.Parameter.empty if one.required else default
    if operation.confirm:
        hints["yes"] = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
        defaults["yes"] = False
    hints["as_json"] = Annotated[bool, typer.Option("--json", help="Print JSON.")]
    defaults["as_json"] = False
    parameters = [
        inspect.Parameter(name, _KEYWORD, default=defaults[name], annotation=hint)
        for name, hint in hints.items()
    ]
    # The command-line library reads both.
    vars(run)["__signature__"] = inspect.Signature(parameters)
    run.__annotations__ = hints
    return run


def _slot(one: Parameter) -> str:
    """The name within Python, which has words of its own (`from`)."""
    return f"{one.name}_" if keyword.iskeyword(one.name) else one.name


def _in_words(one: Parameter) -> bool:
    """Whether it may be written as several words, as in a chat, without quotes."""
    return one.positional and one.rest and one.kind is str


def _given(one: Parameter, value: Any) -> Any:
    return " ".join(value) if _in_words(one) else value


def _declared(one: Parameter) -> Any:
    description = one.description
    if one.session:
        description = "The session (cli:direct unless given)."
    if one.positional:
        return typer.Argument(metavar=one.name.upper(), help=description, show_default=False)
    # A negative number or none at all stands for what the words say.
    plain = one.kind is bool or one.default in ("", None, 0, -1)
    flag = f"--{one.name.replace('_', '-')}"
    return typer.Option(flag, help=description, show_default=not plain)


def _ask(operation: Operation) -> None:
    """Raises UsageError without a person to ask, and Abort when they say no."""
    if not sys.stdin.isatty():
        raise UsageError(f"{operation.name} wants to be sure: add --yes")
    typer.confirm(operation.confirm, abort=True)
