"""Spoken answers: a voice message is also answered aloud, in addition to the text."""

from __future__ import annotations

from pathlib import Path

from nanobot.plugins.voice.settings import VoiceSettings
from nanobot.seam.plugin import Plugin


def _idle(settings: VoiceSettings) -> str:
    return "voice.answers is off." if settings.answers == "off" else ""


PLUGIN = Plugin(
    name="voice",
    summary="Spoken answers.",
    texts=Path(__file__).parent,
    settings=VoiceSettings,
    idle=_idle,
    tables=("nanobot.plugins.voice.tables",),
    store_hooks="nanobot.plugins.voice.store:SqlVoiceHook",
    start="nanobot.plugins.voice.service:start",
)
