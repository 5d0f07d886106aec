"""The operations that say what there is to ask for."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from nanobot.errors import UnknownId
from nanobot.messages import Role
from nanobot.operations.operation import Caller, Operation, OperationContext, operation
from nanobot.operations.parameters import Positional


class CommandHelp(msgspec.Struct, frozen=True, kw_only=True):
    """An operation as help lists it. `arguments`: what each of them is, by its name."""

    usage: str
    help: str
    example: str
    arguments: dict[str, str]


def _of(listed: Operation) -> CommandHelp:
    arguments = {}
    for parameter in listed.parameters:
        text = parameter.description.rstrip(".")
        if parameter.choices:
            text = f"{text}: {', '.join(parameter.choices)}"
        if parameter.default not in ("", None, False):
            text = f"{text} (default: {parameter.default})"
        arguments[parameter.name] = text
    return CommandHelp(
        usage=listed.brief,
        help=listed.help,
        example=listed.chat_example,
        arguments=arguments,
    )


def _text(commands: list[CommandHelp], _: float) -> str:
    """A line for each family of commands; where there is but one, its commands with an example
    each; of a single command, its arguments too."""
    families: dict[str, list[CommandHelp]] = {}
    for command in commands:
        families.setdefault(command.usage.split()[0], []).append(command)
    if len(commands) == 1:
        return _single(commands[0])
    if len(families) == 1:
        blocks = (f"`{each.usage}`\n{each.help}\n→ `{each.example}`" for each in commands)
        name = next(iter(families))[1:]
        return "\n\n".join([*blocks, f"`/help {name} WORD` says all about one."])
    lines = []
    for name, family in families.items():
        if len(family) == 1:
            lines.append(f"- `{family[0].usage}`: {family[0].help}")
        else:
            words = [command.usage.split()[1] for command in family if _has_word(command)]
            lines.append(f"- `{name}`: {', '.join(words)} (`/help {name[1:]}` says more)")
    return "Write to me as you would to a person. Besides that:\n\n" + "\n".join(lines)


def _single(command: CommandHelp) -> str:
    lines = [f"`{command.usage}`", f"{command.help[:1].upper()}{command.help[1:]}."]
    lines += [f"- `{name}`: {text}" for name, text in command.arguments.items()]
    return "\n".join([*lines, f"Example: `{command.example}`"])


def _has_word(command: CommandHelp) -> bool:
    """Whether a command is of two words: `/runs list`."""
    words = command.usage.split()
    return len(words) > 1 and words[1].isalpha() and words[1].islower()


@operation("help", reads=True, role=Role.GUEST, text=_text, example="cron")
async def show_help(
    context: OperationContext,
    caller: Caller,
    text: Annotated[
        Positional, Meta(description="A command to be told all about, as cron or cron add")
    ] = "",
) -> list[CommandHelp]:
    """Show what can be asked for."""
    topic = " ".join(text.lower().removeprefix("/").split())
    commands = [each for each in context.listed if each.listed and each.may(caller.role)]
    about = [
        each for each in commands if topic in ("", each.name, each.alias, each.name.split()[0])
    ]
    exact = [each for each in about if topic and each.name == topic]
    if not about:
        raise UnknownId(f"there is no command /{topic}; /help lists them")
    return [_of(each) for each in exact or about]


_SHOWN_FIRST = ("new", "stop", "model", "cron add", "status", "memory list", "help")
_MOST_SHOWN = 5


class FirstSteps(msgspec.Struct, frozen=True):
    """What somebody is shown who comes for the first time: some commands."""

    commands: list[CommandHelp]


def _welcome(first: FirstSteps, _: float) -> str:
    lines = [
        "Hello! Write to me as you would to a person: ask, or tell me what to do.",
        "You may also send pictures, files and voice messages. A few commands:",
        "",
    ]
    return "\n".join([*lines, *(f"`{each.example}`: {each.help}" for each in first.commands)])


@operation("start", reads=True, role=Role.GUEST, text=_welcome, listed=False)
async def start(context: OperationContext, caller: Caller) -> FirstSteps:
    """Say hello, with the commands that are used most."""
    by_name = {each.name: each for each in context.listed if each.may(caller.role)}
    names = [name for name in _SHOWN_FIRST if name in by_name]
    return FirstSteps([_of(by_name[name]) for name in names[:_MOST_SHOWN]])
