"""Logs: a gateway's log in a file, with a line for each run, and as JSON."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="logs",
    summary="The log of a gateway in a file, with a line for each run, and as JSON.",
    texts=Path(__file__).parent,
    provides={
        "gateway_log": "nanobot.plugins.logs.service:begin",
        "json_lines": "nanobot.plugins.logs.json_lines:as_json",
    },
)
