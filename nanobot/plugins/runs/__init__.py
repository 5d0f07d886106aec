"""Runs: what the assistant did for each message, and what became of it."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="runs",
    summary="Shows runs, tool calls and outgoing messages.",
    texts=Path(__file__).parent,
    operations="nanobot.plugins.runs.operations:operations",
    groups={
        "runs": "Runs: the assistant's work on each message.",
        "outbox": "Outgoing messages and the state of their delivery.",
    },
)
