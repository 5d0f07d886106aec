"""A quarantined reader: a model call without tools reads long content from outside."""

from __future__ import annotations

from pathlib import Path

from nanobot.plugins.reader.settings import ReaderSettings
from nanobot.seam.plugin import Plugin


def _idle(settings: ReaderSettings) -> str:
    return "" if settings.enabled else "reader.enabled is false."


PLUGIN = Plugin(
    name="reader",
    summary="Long content from outside is read by a model call without tools.",
    texts=Path(__file__).parent,
    settings=ReaderSettings,
    idle=_idle,
    tools="nanobot.plugins.reader.service:tools",
    arrivals="nanobot.plugins.reader.service:arrivals",
    results="nanobot.plugins.reader.service:results",
    reserves=("read_document",),
)
