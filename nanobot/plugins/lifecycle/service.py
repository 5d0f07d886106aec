"""The runs of start and stop of a gateway: what the plugin's functions give to nanobot."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from nanobot.agent.worker import Worker
from nanobot.bus.core import Bus
from nanobot.config.loader import Config
from nanobot.plugins.lifecycle.lifecycle import Boot, Lifecycle
from nanobot.plugins.lifecycle.settings import LifecycleSettings
from nanobot.ports import Clock, Ids


def objects(
    config: Config, settings: LifecycleSettings, bus: Bus, clock: Clock, ids: Ids
) -> Mapping[Any, Any]:
    """What requests the runs."""
    return {Lifecycle: Lifecycle(config.workspace, settings, bus, clock, ids)}


@asynccontextmanager
async def around_runs(lifecycle: Lifecycle) -> AsyncIterator[None]:
    """Before the first run, abort what an earlier stop left unfinished."""
    await lifecycle.tidy()
    yield


def before_channels(lifecycle: Lifecycle, worker: Worker) -> Boot:
    """Requests the run of the start."""
    return Boot(lifecycle, worker)


def draining(lifecycle: Lifecycle, worker: Worker) -> Callable[[float], Awaitable[None]]:
    """Requests the run of the stop."""
    return partial(lifecycle.shut_down, worker)
