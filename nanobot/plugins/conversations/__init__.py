"""Conversations: people list them, read them, and mark them."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="conversations",
    summary="Lists, shows and exports conversations; names, pins and archives them.",
    texts=Path(__file__).parent,
    objects="nanobot.plugins.conversations.service:objects",
    operations="nanobot.plugins.conversations.operations:operations",
)
