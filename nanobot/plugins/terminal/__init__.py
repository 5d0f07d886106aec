"""The terminal chat: `nanobot agent`."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="terminal",
    summary="Talk to the assistant in a terminal.",
    texts=Path(__file__).parent,
    commands="nanobot.plugins.terminal.commands:commands",
)
