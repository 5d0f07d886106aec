"""Commands: the model runs them in a sandbox, which other programs use, too."""

from __future__ import annotations

from pathlib import Path

from nanobot.plugins.common.keys.tool_settings import ExecTable, WebTable
from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="shell",
    summary="Commands that the model runs, in a sandbox.",
    texts=Path(__file__).parent,
    shares=(ExecTable, WebTable),
    fits="nanobot.plugins.common.addresses:fits",
    tables=("nanobot.plugins.common.store.command_tables",),
    objects="nanobot.plugins.shell.service:objects",
    always_objects="nanobot.plugins.shell.service:always_objects",
    tools="nanobot.plugins.shell.service:tools",
    reserves=("exec", "process"),
    around_runs="nanobot.plugins.shell.service:around_runs",
    checks="nanobot.plugins.shell.checks:checks",
    provides={
        "walls": "nanobot.plugins.shell.service:walls",
        "commands": "nanobot.plugins.shell.service:commands",
        "escapes": "nanobot.plugins.shell.escapes:escapes",
    },
)
