"""Progress: chats show that their runs work, and what they write."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="progress",
    summary="Signs of typing, answers that grow while they are written, and marks at messages.",
    texts=Path(__file__).parent,
    companions="nanobot.plugins.progress.companions:companions",
)
