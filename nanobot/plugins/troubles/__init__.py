"""Troubles: owners are told what keeps failing."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="troubles",
    summary="Tells owners in their chats what keeps failing.",
    texts=Path(__file__).parent,
    every_process="nanobot.plugins.troubles.service:start",
)
