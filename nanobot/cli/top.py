"""The first screen of help: ten everyday commands, and the names of the others."""

from __future__ import annotations

from typing import Any

from nanobot.cli.chat.command import DefaultToAgent

_FIRST = {
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


class TopLevel(DefaultToAgent):
    """The commands, the ten everyday ones first."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Fits into the 24 lines of a small terminal."""
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        with formatter.section("Commands"):
            formatter.write_dl(list(_FIRST.items()))
        with formatter.section("More"):
            formatter.write_text(", ".join(self._others(ctx)))
        formatter.write_paragraph()
        formatter.write_text("`nanobot COMMAND --help` explains each, with an example.")
        formatter.write_text("Options: --version, --install-completion, --help.")

    def _others(self, ctx: Any) -> list[str]:
        return [
            name
            for name in self.list_commands(ctx)
            if name not in _FIRST and not self.commands[name].hidden
        ]
