"""The whole command line: the first screen of help, with ten everyday commands and the names of the
others. Words that are no command go to the command of a plugin, or are refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from nanobot.errors import UsageError
from nanobot.plugins.command_line.group import Group
from nanobot.plugins.command_line.refusals import left_out, refusal
from nanobot.plugins.common.commands.output import warn
from nanobot.plugins.common.faces import Command

FIRST = {
    "onboard": "Set up a model and a chat, step by step.",
    "agent": "Talk to the assistant in this terminal.",
    "gateway": "Serve the chats until stopped.",
    "service": "Run the gateway permanently, as a service.",
    "status": "Show the model, active runs and the state of the chats.",
    "doctor": "Check the installation and explain how to fix problems.",
    "config": "Read, change and check the configuration.",
    "sessions": "Read, continue, stop or remove conversations.",
    "approvals": "Show and decide pending approvals.",
    "cron": "Schedule jobs, once or repeatedly.",
}
AT_THE_END = (
    "`nanobot COMMAND --help` explains each, with an example.",
    "Options: --version, --install-completion, --help.",
)


class TopLevel(Group):
    """The commands, the ten everyday ones first. Words that neither are nor resemble a command go
    to the `leading` command; a single word never does."""

    leading: ClassVar[Command | None] = None

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The typed words, or a message for the assistant."""
        if args and self._is_said(args[0]):
            hints: list[str] = []
            if self.leading is not None and not args[0].startswith("-"):
                hints = self.leading.mistaken(args, sorted(paths_of(self.commands)))
            if self.leading is None or hints:
                warn(*refusal(args, hints, left_out()))
                ctx.exit(UsageError.exit_code)
            else:
                args = [self.leading.name, *args]
        rest: list[str] = super().parse_args(ctx, args)
        return rest

    def _is_said(self, word: str) -> bool:
        if word.startswith("-"):
            return self.leading is not None and word in self.leading.leading
        return word not in self.commands

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Fits into the 24 lines of a small terminal."""
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        with formatter.section("Commands"):
            formatter.write_dl([row for row in FIRST.items() if row[0] in self.commands])
        with formatter.section("More"):
            formatter.write_text(", ".join(self._others(ctx)))
        formatter.write_paragraph()
        for line in AT_THE_END:
            formatter.write_text(line)

    def _others(self, ctx: Any) -> list[str]:
        return [
            name
            for name in self.list_commands(ctx)
            if name not in FIRST and not self.commands[name].hidden
        ]


def paths_of(commands: Mapping[str, Any], *path: str) -> Iterator[str]:
    """The commands by their full names, without unlisted ones."""
    for name, command in commands.items():
        if command.hidden:
            continue
        below = getattr(command, "commands", None)
        if below is None:
            yield " ".join((*path, name))
        else:
            yield from paths_of(below, *path, name)
