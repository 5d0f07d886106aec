"""Ends background runs at their deadlines."""

from __future__ import annotations

import math

from loguru import logger

from nanobot.boundary import boundary
from nanobot.bus.core import Bus
from nanobot.messages import Address, EventKind, OutboundKind, OutboundMessage
from nanobot.plugins.common.runs.background_runs import TaskRecords
from nanobot.plugins.common.times.looks import Looks, stirred
from nanobot.ports import Clock
from nanobot.session import keys
from nanobot.session.records import Records
from nanobot.session.runs import Ending
from nanobot.session.states import RunState


class DeadlineMonitor:
    """Ends runs after their deadline, whether they wait or work."""

    def __init__(self, tasks: TaskRecords, records: Records, bus: Bus, clock: Clock) -> None:
        self._tasks = tasks
        self._records = records
        self._bus = bus
        self._clock = clock

    async def run(self) -> None:
        looks = Looks(self._clock, often=15.0, rarely=120.0, lasting=60.0)
        with stirred(looks, self._bus, EventKind.STATUS):
            while True:
                within = math.inf
                with boundary("deadlines of background runs"):
                    coming = await self.look()
                    if coming is not None:
                        within = max(coming - self._clock.now(), 0.1)
                await looks.due(within)

    async def look(self) -> float | None:
        """End overdue runs. Returns the time of the next deadline."""
        overdue, coming = await self._tasks.overdue()
        for run_id in overdue:
            logger.warning("run {} is past its deadline", run_id)
            word = OutboundMessage(
                address=Address("", ""),
                text="It did not end in the time it had.",
                key=keys.answer(run_id),
                kind=OutboundKind.NOTICE,
                direct=True,
            )
            ending = Ending(state=RunState.FAILED, outbound=(word,), error="deadline")
            ended = await self._records.cancel(run_id, ending, "deadline")
            if ended is not None:
                self._bus.stopped(ended)
                self._bus.wake(ended.session_key, ended.kind)
        return coming
