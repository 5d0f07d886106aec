"""Measures and sends metrics while the gateway serves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

from nanobot.operations.engine import Engine
from nanobot.plugins.common.gateway_facts import GatewayFacts
from nanobot.plugins.common.models.spending import Spending
from nanobot.plugins.metrics.meter import Meter, meter_of
from nanobot.plugins.metrics.settings import MetricsSettings
from nanobot.ports import Clock
from nanobot.seam.works import Works
from nanobot.store.database.database import ignored
from nanobot.store.database.sqlite import SqliteDatabase
from nanobot.store.opening import Store
from nanobot.system import environment

_LAG_EVERY = 15.0


@asynccontextmanager
async def start(  # noqa: PLR0913 - each is a part of its own
    settings: MetricsSettings,
    works: Works,
    engine: Engine,
    facts: GatewayFacts,
    store: Store,
    clock: Clock,
    spending: Spending | None = None,
) -> AsyncIterator[None]:
    """Time the store and the event loop, and send metrics if that is enabled."""
    meter = meter_of(engine.bus)
    lag = _Lag(asyncio.get_running_loop(), meter)
    _time(store, meter.transaction.observe, meter.sync.observe)
    if settings.send:
        _send(settings, works, clock, (engine, facts, store, spending))
    try:
        yield
    finally:
        lag.end()
        _time(store, ignored, ignored)


def _time(store: Store, commit: Callable[[float], None], sync: Callable[[float], None]) -> None:
    store.guard.on_commit = commit
    if isinstance(store.guard.inner, SqliteDatabase):
        store.guard.inner.on_sync = sync


def _send(
    settings: MetricsSettings,
    works: Works,
    clock: Clock,
    looked_at: tuple[Engine, GatewayFacts, Store, Spending | None],
) -> None:
    from nanobot.plugins.common.collector import collector, switched_off  # noqa: PLC0415
    from nanobot.plugins.metrics.exporter import Exporter  # noqa: PLC0415 - loads the HTTP client
    from nanobot.plugins.metrics.looking import look  # noqa: PLC0415

    environ = environment()
    if switched_off(environ):
        return
    where = collector("metrics", settings.endpoint, settings.api_key, environ)
    exporter = Exporter(partial(look, *looked_at), where, clock, settings.interval)
    works.add("metrics", exporter.run)


class _Lag:
    """Measures from time to time how late the event loop runs a timer."""

    def __init__(self, loop: asyncio.AbstractEventLoop, meter: Meter) -> None:
        self._loop = loop
        self._observe: Callable[[float], None] = meter.lag.observe
        self._next()

    def _next(self) -> None:
        due = self._loop.time() + _LAG_EVERY
        self._timer = self._loop.call_at(due, self._look, due)

    def _look(self, due: float) -> None:
        self._observe(self._loop.time() - due)
        self._next()

    def end(self) -> None:
        self._timer.cancel()
