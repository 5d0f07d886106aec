"""Help: what people can ask for in a chat, in as many lines as a telephone shows."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="help",
    summary="Explains the commands in chats, and greets new people.",
    texts=Path(__file__).parent,
    operations="nanobot.plugins.help.operations:operations",
)
