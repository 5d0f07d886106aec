"""Groups of commands: what their help lists is whole, and what was typed wrong is told in words."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

_WHOLE = 1_000
_LISTING = frozenset({"plugins"})
"""The groups that list what there is where no command is named."""
_PREFIX = "Value error, "
# How the library that reads values says it, and how people do.
_IN_WORDS = (
    ("Input should be a valid integer", "it is not a whole number."),
    ("Input should be a valid number", "it is not a number."),
    ("Input should be a valid boolean", "it is neither yes nor no."),
)


class Group(TyperGroup):
    """Commands of a common first word."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Each with its whole sentence, which goes on in the next line where it is long."""
        commands = [(name, self.commands[name]) for name in self.list_commands(ctx)]
        shown = [each for each in commands if not each[1].hidden]
        with formatter.section("Commands"):
            formatter.write_dl([(name, each.get_short_help_str(_WHOLE)) for name, each in shown])

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As they were typed, or the list."""
        named = any(not arg.startswith("-") for arg in args) or {"-h", "--help"} & {*args}
        return super().parse_args(ctx, args if named or not self._lists(ctx) else ["list", *args])

    def _lists(self, ctx: Any) -> bool:
        return ctx.info_name in _LISTING and "list" in self.commands

    def invoke(self, ctx: Any) -> Any:
        """Performs what was typed. Raises BadParameter for a wrong value."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = in_words(error.message)
            raise


def in_words(message: str) -> str:
    """What is wrong with a value, without the words of the library that read it."""
    for begin, words in _IN_WORDS:
        if message.startswith(begin):
            return words
    return message.removeprefix(_PREFIX)
