"""Missed reactions: a 👍 that a person gave while their channel was down still decides."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="missed_reactions",
    summary="Reactions to open questions that were made while a channel was down.",
    texts=Path(__file__).parent,
    always_objects="nanobot.plugins.missed_reactions.service:always_objects",
    companions="nanobot.plugins.missed_reactions.looking:companions",
)
