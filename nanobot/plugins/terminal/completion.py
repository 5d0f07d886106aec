"""Completions for a line that begins with a slash: the operations and their arguments."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from prompt_toolkit.completion import CompleteEvent, Completer, Completion, WordCompleter
from prompt_toolkit.document import Document

from nanobot.config.loader import Config
from nanobot.operations.catalogue import OPERATIONS, plugin_operations
from nanobot.plugins.common.models.known_providers import KNOWN_PROVIDERS
from nanobot.ports import MenuCommand
from nanobot.providers.model_choice import EMBEDDED

_WORD = re.compile(r"[a-z][a-z_-]*")
_BRACKETS = re.compile(r"[\[\]|\s]+")

Arguments: TypeAlias = Mapping[str, Callable[[], Iterable[str]]]
"""The possible arguments by operation. Words in its `usage` are known without this."""


LOCAL = (
    MenuCommand("image", "shows me a picture, with what you write behind it", "/image PATH"),
    MenuCommand("quit", "leaves this terminal (Ctrl-D does, too)", "/quit"),
    MenuCommand("exit", "the same", "/exit"),
)
"""Commands that only a terminal has."""


def every_command() -> list[MenuCommand]:
    """Those of the core and of every installed plugin, and of the terminal."""
    listed = [each for each in (*OPERATIONS, *plugin_operations()) if each.listed]
    return [*(MenuCommand(each.name, each.help, each.usage) for each in listed), *LOCAL]


class Commands(Completer):
    """Completes names as they are typed, and then arguments."""

    def __init__(self, arguments: Arguments, commands: Sequence[MenuCommand] | None = None) -> None:
        commands = every_command() if commands is None else commands
        self._commands = sorted(commands, key=lambda command: " " in command.name)
        self._arguments = arguments
        helps = {f"/{command.name}": command.help for command in self._commands}
        self._names = WordCompleter([*helps], ignore_case=True, meta_dict=helps, sentence=True)

    def get_completions(self, document: Document, event: CompleteEvent) -> Iterator[Completion]:
        """None if it is not a command, and none that has been typed already."""
        text = document.text_before_cursor
        if not text.startswith("/") or "\n" in text:
            return
        completions = [*self._names.get_completions(document, event)]
        commands = [each for each in self._commands if text[1:].lower().startswith(f"{each.name} ")]
        if commands:
            command = max(commands, key=lambda each: len(each.name))
            values = dict.fromkeys(self._arguments.get(command.name, tuple)()) | _words(command)
            completions += WordCompleter([*values], WORD=True).get_completions(document, event)
        written = (text.lower(), document.get_word_before_cursor(WORD=True))
        yield from (each for each in completions if each.text not in written)


def _words(command: MenuCommand) -> dict[str, None]:
    """The literal words in a usage like `/stop [all] [limit=LIMIT]`; capitals are placeholders."""
    words: dict[str, None] = {}
    for part in _BRACKETS.split(command.usage)[1 + command.name.count(" ") :]:
        name, equals, value = part.partition("=")
        if _WORD.fullmatch(name):
            words[f"{name}{equals}{value if _WORD.fullmatch(value) else ''}"] = None
    return words


def model_labels(config: Config) -> list[str]:
    """The arguments for /model: first the models of the configuration, then the known ones."""
    named = [config.agent.model, *config.agent.fallback_models]
    labels = ["default", *(label for label in named if "/" in label), EMBEDDED]
    for name in (*config.providers, *KNOWN_PROVIDERS):
        provider = KNOWN_PROVIDERS.get(name)
        labels.append(f"{name}/{provider.default_model if provider else ''}")
    return list(dict.fromkeys(labels))
