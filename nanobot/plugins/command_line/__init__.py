"""The command line: options, help and tables of operations and of plugins' commands."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="command_line",
    summary="The command line with options, help, completion and tables.",
    texts=Path(__file__).parent,
    provides={"command_line": "nanobot.plugins.command_line.commands:perform"},
)
