"""Sending: messages to conversations and chats from outside of them."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="sending",
    summary="Sends messages to other conversations and chats, from commands and programs.",
    texts=Path(__file__).parent,
    operations="nanobot.plugins.sending.operations:operations",
)
