"""Summaries of what a conversation's model no longer sees."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="summaries",
    summary="Summarizes conversations that become too long.",
    texts=Path(__file__).parent,
    objects="nanobot.plugins.summaries.service:objects",
    provides={
        "summaries": "nanobot.plugins.summaries.compaction:Summarizers",
        "obey_summaries": "nanobot.plugins.summaries.commands:obey",
    },
)
