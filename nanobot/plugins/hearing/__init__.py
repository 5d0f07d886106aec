"""Hearing: recordings that people send become text."""

from __future__ import annotations

from pathlib import Path

from nanobot.plugins.common.keys.hearing_settings import HearingKeys
from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="hearing",
    summary="Transcripts of voice messages.",
    texts=Path(__file__).parent,
    shares=(HearingKeys,),
    objects="nanobot.plugins.hearing.transcribing:objects",
)
