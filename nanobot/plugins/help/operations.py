"""The operations that say what there is to ask for."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from nanobot.errors import UnknownId
from nanobot.messages import Role
from nanobot.operations.operation import Caller, Operation, OperationContext, operation
from nanobot.operations.parameters import Positional
from nanobot.operations.rendering import Now
from nanobot.text import Sentence

MOST_LINES = 15
"""What one answer to /help takes at most: more fills a telephone, and a group."""


_SMALL_SCREEN = 70


class HelpTopic(msgspec.Struct, frozen=True):
    """Some families of commands, with a heading."""

    heading: Sentence
    names: tuple[str, ...]


_TOPICS = (
    HelpTopic(
        "Conversations",
        (
            *("new", "stop", "model", "language", "compact", "sessions", "context", "send"),
            *("notify", "help", "files", "search"),
        ),
    ),
    HelpTopic(
        "What I do", ("status", "runs", "usage", "tools", "cron", "hooks", "outbox", "restart")
    ),
    HelpTopic("What I know", ("memory", "prompts", "skills", "personas", "reload")),
    HelpTopic(
        "What I may",
        (
            *("approvals", "approve", "deny", "show", "answer"),
            *("policy", "pair", "security", "audit"),
        ),
    ),
    HelpTopic(
        "How I am set up",
        (
            *("config", "models", "channels", "mcp", "web", "plugins", "doctor"),
            "quarantine",
        ),
    ),
)
_WITH_TOPIC = frozenset(name for topic in _TOPICS for name in topic.names)


class CommandHelp(msgspec.Struct, frozen=True, kw_only=True):
    """An operation as help lists it. `arguments`: what each of them is, by its name."""

    usage: str
    help: Sentence
    example: str
    arguments: dict[str, Sentence]


def brief(listed: Operation) -> str:
    """Its usage for a small screen: where there are many, options are dots."""
    if len(listed.usage) <= _SMALL_SCREEN:
        return listed.usage
    shown = [parameter.usage for parameter in listed.parameters if parameter.positional]
    return " ".join([f"/{listed.name}", *shown, "..."])


def chat_example(listed: Operation) -> str:
    """An example call in a chat."""
    return f"/{listed.name} {listed.example}".rstrip()


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
        usage=brief(listed),
        help=listed.help,
        example=chat_example(listed),
        arguments=arguments,
    )


def _text(commands: list[CommandHelp], _: Now) -> Sentence:
    """The commands used most; where there is but one family, a line for each of its commands; of a
    single command, its arguments and an example. At most MOST_LINES lines, for a chat's sake."""
    families = _families(commands)
    if len(commands) == 1:
        return _single(commands[0])
    if len(families) == 1:
        name = next(iter(families))[1:]
        blocks = "\n\n".join(
            f"`{each.usage}`\n{each.help}\n→ `{each.example}`" for each in commands
        )
        if blocks.count("\n") + 3 <= MOST_LINES:
            return f"{blocks}\n\n`/help {name} WORD` explains one in full."
        lines = [f"- `{each.usage}`: {each.help}" for each in commands]
        return "\n".join([*_fitting(lines, MOST_LINES - 1), f"`/help {name} WORD` explains one."])
    if len(families) < MOST_LINES:
        lines = [_family_line(name, family) for name, family in families.items()]
        return "\n".join(["Write to me as you would to a person. Commands:", *lines])
    by_name = {_name(each): each for each in commands}
    used = [by_name[name] for name in _SHOWN_FIRST if name in by_name]
    lines = [f"- `/{_name(each)}`: {each.help}" for each in used]
    return "\n".join(
        [
            "Write to me as you would to a person. The commands used most:",
            *lines,
            "",
            "`/help more` lists all of them, `/help cron` explains one."
            if "cron add" in by_name
            else "`/help more` lists all of them, `/help new` explains one.",
        ]
    )


def _more(commands: list[CommandHelp], _: Now) -> Sentence:
    """The names of all commands, by topic."""
    families = _families(commands)
    lines = []
    for topic in _TOPICS:
        shown = [f"`{family}`" for name in topic.names if (family := f"/{name}") in families]
        if shown:
            lines.append(f"- {topic.heading}: {', '.join(shown)}")
    others = [f"`{family}`" for family in families if family[1:] not in _WITH_TOPIC]
    if others:
        lines.append(f"- Others: {', '.join(others)}")
    return "\n".join([*_fitting(lines, MOST_LINES - 1), "`/help NAME` explains one of them."])


def _family_line(name: str, family: list[CommandHelp]) -> str:
    if len(family) == 1:
        return f"- `{family[0].usage}`: {family[0].help}"
    words = [command.usage.split()[1] for command in family if _has_word(command)]
    return f"- `{name}`: {', '.join(words)} (`/help {name[1:]}` says more)"


def _families(commands: list[CommandHelp]) -> dict[str, list[CommandHelp]]:
    families: dict[str, list[CommandHelp]] = {}
    for command in commands:
        families.setdefault(command.usage.split()[0], []).append(command)
    return families


def _name(command: CommandHelp) -> str:
    """The name without the placeholders of arguments."""
    words = command.usage.removeprefix("/").split()
    return " ".join(words[:2] if _has_word(command) else words[:1])


def _fitting(lines: list[str], most: int) -> list[str]:
    """The lines; where they are too many, the last ones two in one, or as many as it takes."""
    together = max(2, -(-len(lines) // most))
    single = max((together * most - len(lines)) // (together - 1), 0)
    if len(lines) <= most:
        return lines
    starts = range(single, len(lines), together)
    packed = ["; ".join([lines[n], *(x[2:] for x in lines[n + 1 : n + together])]) for n in starts]
    return [*lines[:single], *packed]


def _single(command: CommandHelp) -> str:
    lines = [f"`{command.usage}`", f"{command.help[:1].upper()}{command.help[1:]}."]
    lines.append(f"Example: `{command.example}`")
    arguments = [f"- `{name}`: {text}" for name, text in command.arguments.items()]
    return "\n".join([*lines, *_fitting(arguments, MOST_LINES - 3)])


def _has_word(command: CommandHelp) -> bool:
    """Whether a command is of two words: `/runs list`."""
    words = command.usage.split()
    return len(words) > 1 and words[1].isalpha() and words[1].islower()


@operation("help", reads=True, role=Role.GUEST, text=_text, example="cron")
async def show_help(
    context: OperationContext,
    caller: Caller,
    text: Annotated[
        Positional, Meta(description="The command to explain, as in cron or cron add")
    ] = "",
) -> list[CommandHelp]:
    """Show the commands.

    In a chat, `/help` answers in at most 15 lines; `/help more` lists every command.
    """
    topic = " ".join(text.lower().removeprefix("/").split()).removeprefix("more")
    commands = [each for each in context.listed if each.listed and each.may(caller.role)]
    about = [
        each for each in commands if topic in ("", each.name, each.alias, each.name.split()[0])
    ]
    exact = [each for each in about if topic and each.name == topic]
    if not about:
        raise UnknownId(f"there is no command /{topic}; /help lists them")
    return [_of(each) for each in exact or about]


@operation("help more", reads=True, role=Role.GUEST, text=_more, listed=False, own_command=True)
async def show_more_help(context: OperationContext, caller: Caller) -> list[CommandHelp]:
    """List the names of all commands by topic."""
    return [_of(each) for each in context.listed if each.listed and each.may(caller.role)]


_SHOWN_FIRST = ("new", "stop", "model", "cron add", "status", "memory list", "help")
_MOST_SHOWN = 5


class FirstSteps(msgspec.Struct, frozen=True):
    """Commands to show to a new person."""

    commands: list[CommandHelp]


def _welcome(first: FirstSteps, _: Now) -> Sentence:
    lines = [
        "Hello! Write to me as you would to a person: ask, or tell me what to do.",
        "You may also send pictures, files and voice messages. A few commands:",
        "",
    ]
    return "\n".join([*lines, *(f"`{each.example}`: {each.help}" for each in first.commands)])


@operation("start", reads=True, role=Role.GUEST, text=_welcome, listed=False)
async def start(context: OperationContext, caller: Caller) -> FirstSteps:
    """Show a greeting with the most used commands."""
    by_name = {each.name: each for each in context.listed if each.may(caller.role)}
    names = [name for name in _SHOWN_FIRST if name in by_name]
    return FirstSteps([_of(by_name[name]) for name in names[:_MOST_SHOWN]])


def operations() -> list[Operation]:
    """All of them."""
    return [show_help, show_more_help, start]
