"""Sending: messages to chats besides answers, of the assistant and from outside."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="sending",
    summary="Sends messages before an answer and to other conversations and chats.",
    texts=Path(__file__).parent,
    operations="nanobot.plugins.sending.operations:operations",
    always_objects="nanobot.plugins.sending.service:always_objects",
    tools="nanobot.plugins.sending.service:tools",
    reserves=("message",),
)
