"""What a line that begins with a slash may become: the operations, and what they take."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from nanobot.config.loader import Config
from nanobot.operations.catalogue import OPERATIONS
from nanobot.ports import MenuCommand
from nanobot.providers.known_providers import KNOWN_PROVIDERS
from nanobot.providers.model_choice import EMBEDDED

_WORD = re.compile(r"[a-z][a-z_-]*")
_BRACKETS = re.compile(r"[\[\]|\s]+")

Arguments: TypeAlias = Mapping[str, Callable[[], Iterable[str]]]
"""By operation, what its argument may be. Words in its `usage` are known without this."""


class Suggestion(msgspec.Struct, frozen=True):
    """What the last `replaces` characters may become."""

    text: str
    replaces: int
    help: str = ""


LOCAL = (
    MenuCommand("image", "shows me a picture, with what you write behind it", "/image PATH"),
    MenuCommand("quit", "leaves this terminal (Ctrl-D does, too)", "/quit"),
    MenuCommand("exit", "the same", "/exit"),
)
"""What only a terminal can do."""
ALL = (
    *(MenuCommand(each.name, each.help, each.usage) for each in OPERATIONS if each.listed),
    *LOCAL,
)


class Commands:
    """Suggests names while they are written, and arguments after them."""

    def __init__(self, arguments: Arguments, commands: Sequence[MenuCommand] = ALL) -> None:
        self._commands = sorted(commands, key=lambda command: " " in command.name)
        self._arguments = arguments

    def suggest(self, text: str) -> list[Suggestion]:
        """The suggestions for a line up to the cursor; none for what is no command."""
        if not text.startswith("/") or "\n" in text:
            return []
        typed = text[1:].lower()
        names = [
            Suggestion(f"/{command.name}", len(text), command.help)
            for command in self._commands
            if command.name.startswith(typed) and command.name != typed
        ]
        commands = [each for each in self._commands if typed.startswith(f"{each.name} ")]
        if not commands:
            return names
        command = max(commands, key=lambda each: len(each.name))
        prefix = text[1 + len(command.name) :].lstrip().rpartition(" ")[2]
        values = dict.fromkeys([*self._arguments.get(command.name, tuple)(), *_words(command)])
        return names + [
            Suggestion(value, len(prefix))
            for value in values
            if value.startswith(prefix) and value != prefix
        ]


def _words(command: MenuCommand) -> list[str]:
    """What a usage such as `/stop [all] [limit=LIMIT]` says literally: capitals stand for
    something else."""
    words = []
    for part in _BRACKETS.split(command.usage)[1 + command.name.count(" ") :]:
        name, equals, value = part.partition("=")
        if _WORD.fullmatch(name):
            words.append(f"{name}{equals}{value if _WORD.fullmatch(value) else ''}")
    return words


def model_labels(config: Config) -> list[str]:
    """What /model may be given: the models of the configuration first, then the known ones."""
    named = [config.agent.model, *config.agent.fallback_models]
    labels = ["default", *(label for label in named if "/" in label), EMBEDDED]
    for name in (*config.providers, *KNOWN_PROVIDERS):
        provider = KNOWN_PROVIDERS.get(name)
        labels.append(f"{name}/{provider.default_model if provider else ''}")
    return list(dict.fromkeys(labels))
