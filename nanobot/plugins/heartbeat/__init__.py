"""The heartbeat: at intervals, the model attends to the tasks in `HEARTBEAT.md`."""

from __future__ import annotations

from pathlib import Path

from nanobot.plugins.heartbeat.settings import HeartbeatSettings
from nanobot.seam.plugin import Plugin


def _idle(settings: HeartbeatSettings) -> str:
    return "" if settings.enabled else "heartbeat.enabled is false."


PLUGIN = Plugin(
    name="heartbeat",
    summary="Looking after HEARTBEAT.md.",
    requires=("jobs",),
    texts=Path(__file__).parent,
    settings=HeartbeatSettings,
    idle=_idle,
    fits="nanobot.plugins.heartbeat.service:fits",
    triggers="nanobot.plugins.heartbeat.service:triggers",
    checks="nanobot.plugins.heartbeat.checks:checks",
)
