"""Titles of conversations, given by a model."""

from __future__ import annotations

from pathlib import Path

from nanobot.plugins.titles.settings import TitleKeys
from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="titles",
    summary="Titles of conversations, given by the model.",
    texts=Path(__file__).parent,
    shares=(TitleKeys,),
    start="nanobot.plugins.titles.service:start",
)
