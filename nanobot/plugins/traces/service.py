"""The exporter, put together of what a gateway offers."""

from __future__ import annotations

from nanobot.plugins.traces.collector import collector
from nanobot.plugins.traces.exporter import Exporter
from nanobot.plugins.traces.settings import TracesSettings
from nanobot.plugins.traces.store import TracedRuns
from nanobot.ports import Clock
from nanobot.seam.works import Works
from nanobot.store.opening import Store
from nanobot.store.repositories.trigger_state import SqlTriggerState
from nanobot.system import environment


def start(settings: TracesSettings, works: Works, store: Store, clock: Clock) -> None:
    """Send traces as long as the gateway serves, unless OTEL_SDK_DISABLED is true."""
    environ = environment()
    if environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return
    exporter = Exporter(
        TracedRuns(store.database, store.writer),
        SqlTriggerState(store.database, store.writer),
        collector(settings, environ),
        clock,
        settings.interval,
    )
    works.add("traces", exporter.run)
