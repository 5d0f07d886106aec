"""Groups of commands, with complete sentences in their help and clear errors for wrong input."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import typer
from typer.core import TyperGroup

from nanobot.cli.language import terminal_language
from nanobot.seam.installed import Interface, provided
from nanobot.texts import ENGLISH

TRANSLATED_HELP: Interface[Callable[[Any], Any]] = Interface("translated_help")
"""Gives a kind of formatter of help that speaks the language of the terminal, made of another."""
_WHOLE = 1_000
_LISTING = frozenset({"plugins"})
"""Groups that list their contents if no command is named."""
_PREFIX = "Value error, "
# The parsing library's wording, and a clearer one.
_IN_WORDS = (
    ("Input should be a valid integer", "it is not a whole number."),
    ("Input should be a valid number", "it is not a number."),
    ("Input should be a valid boolean", "it is neither yes nor no."),
)


class Group(TyperGroup):
    """Commands with a common first word."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        if (
            terminal_language() != ENGLISH
            and (translating := provided(TRANSLATED_HELP)) is not None
        ):
            for command in (self, *self.commands.values()):
                command.context_class = _translated(translating)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Each with its whole sentence, wrapped to the next line if it is long."""
        commands = [(name, self.commands[name]) for name in self.list_commands(ctx)]
        shown = [each for each in commands if not each[1].hidden]
        with formatter.section("Commands"):
            formatter.write_dl([(name, each.get_short_help_str(_WHOLE)) for name, each in shown])

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The typed words, or the list."""
        named = any(not arg.startswith("-") for arg in args) or {"-h", "--help"} & {*args}
        return super().parse_args(ctx, args if named or not self._lists(ctx) else ["list", *args])

    def _lists(self, ctx: Any) -> bool:
        return ctx.info_name in _LISTING and "list" in self.commands

    def invoke(self, ctx: Any) -> Any:
        """Execute the typed command. Raises BadParameter for a wrong value."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = in_words(error.message)
            raise


@lru_cache(maxsize=1)
def _translated(translating: Callable[[Any], Any]) -> Any:
    """The context of a command whose help is translated."""
    usual: Any = TyperGroup.context_class
    formatter = translating(usual.formatter_class)
    return type("TranslatedContext", (usual,), {"formatter_class": formatter})


def in_words(message: str) -> str:
    """The problem with a value, without the parsing library's wording."""
    for begin, words in _IN_WORDS:
        if message.startswith(begin):
            return words
    return message.removeprefix(_PREFIX)
