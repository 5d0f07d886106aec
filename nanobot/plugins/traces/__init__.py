"""Traces: every run as OpenTelemetry spans, derived from its log."""

from __future__ import annotations

from pathlib import Path

from nanobot.plugins.traces.settings import TracesSettings
from nanobot.seam.plugin import Plugin


def _idle(settings: TracesSettings) -> str:
    return "" if settings.enabled else "traces.enabled is false."


PLUGIN = Plugin(
    name="traces",
    summary="Traces of runs for a collector (OpenTelemetry).",
    texts=Path(__file__).parent,
    settings=TracesSettings,
    idle=_idle,
    worker_objects="nanobot.plugins.common.propagation:worker_objects",
    start="nanobot.plugins.traces.service:start",
    propagation="nanobot.plugins.traces.propagator:propagator",
)
