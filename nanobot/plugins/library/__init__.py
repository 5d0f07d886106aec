"""The library: programs in Python run agents of nanobot themselves."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="library",
    summary="Programs in Python open a home of nanobot, or run an agent of their own.",
    texts=Path(__file__).parent,
    worker_objects="nanobot.plugins.library.service:worker_objects",
    provides={"function_tool": "nanobot.plugins.library.function:tool"},
)
