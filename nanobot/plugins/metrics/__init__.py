"""Metrics: counts and durations of runs, for Prometheus and OpenTelemetry."""

from __future__ import annotations

from pathlib import Path

from nanobot.plugins.metrics.settings import MetricsSettings
from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="metrics",
    summary="Metrics at /metrics (Prometheus), and for a collector (OpenTelemetry).",
    texts=Path(__file__).parent,
    settings=MetricsSettings,
    events="nanobot.plugins.metrics.meter:watching",
    metrics="nanobot.plugins.metrics.looking:look",
    start="nanobot.plugins.metrics.service:start",
)
