"""The current state of each session, followed from the start of the gateway."""

from __future__ import annotations

from collections.abc import Mapping

from nanobot.bus.core import Bus
from nanobot.plugins.common.runs.current_runs import CurrentRuns


def objects() -> Mapping[type[CurrentRuns], CurrentRuns]:
    """What live updates begin with."""
    return {CurrentRuns: CurrentRuns()}


def watching(current: CurrentRuns, bus: Bus) -> CurrentRuns:
    """It gets all events."""
    bus.on_stopped(current.stopped)
    return current
