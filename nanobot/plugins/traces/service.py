"""Builds the exporter from the parts of a gateway."""

from __future__ import annotations

from nanobot.plugins.common.collector import collector, switched_off
from nanobot.plugins.common.store.trigger_state import SqlTriggerState
from nanobot.plugins.traces.content import Content
from nanobot.plugins.traces.exporter import Exporter
from nanobot.plugins.traces.otlp import SpanCollector
from nanobot.plugins.traces.sampling import sampler_of
from nanobot.plugins.traces.settings import TracesSettings
from nanobot.plugins.traces.store import TracedRuns
from nanobot.ports import Clock
from nanobot.seam.works import Works
from nanobot.store.opening import Store
from nanobot.system import environment
from nanobot.tools.registry import ToolRegistry


def start(
    settings: TracesSettings, works: Works, store: Store, clock: Clock, tools: ToolRegistry
) -> None:
    """Send traces while the gateway serves, unless OTEL_SDK_DISABLED is true."""
    environ = environment()
    if switched_off(environ):
        return
    exporter = Exporter(
        TracedRuns(store.database, store.writer),
        SqlTriggerState(store.database, store.writer),
        SpanCollector(collector("traces", settings.endpoint, settings.api_key, environ)),
        clock,
        settings.interval,
        sampler_of(environ),
        Content(tools.redact, whole=settings.content),
    )
    works.add("traces", exporter.run)
