"""The terminal chat: `nanobot agent`."""

from __future__ import annotations

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="terminal",
    summary="Talk to the assistant in a terminal.",
    commands="nanobot.plugins.terminal.commands:commands",
)
