"""Triage: whether a message is answered at once, or starts a background run."""

from __future__ import annotations

from pathlib import Path

from nanobot.plugins.triage.settings import TriageKeys
from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="triage",
    summary="Deciding before a run whether to answer at once or to start a background run.",
    requires=("tasks",),
    texts=Path(__file__).parent,
    shares=(TriageKeys,),
    stages="nanobot.plugins.triage.service:stages",
)
