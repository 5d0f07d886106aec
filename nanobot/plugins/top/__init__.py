"""What a gateway does now: runs, queues, channels, tokens, cost."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="top",
    summary="Shows what the gateway does now.",
    always_objects="nanobot.plugins.top.service:always_objects",
    texts=Path(__file__).parent,
    operations="nanobot.plugins.top.operations:operations",
    commands="nanobot.plugins.top.commands:commands",
)
