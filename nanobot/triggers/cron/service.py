"""The service that fires jobs: one timer to what is due next, and nothing that must not be lost.

What is due, and what became of it, is in the store alone. So a crash at any point, a clock that is
set and a laptop that slept are all the same to it: it looks at the store, and does what it finds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from loguru import logger

from nanobot.boundary import boundary
from nanobot.bus.core import Bus
from nanobot.errors import StoreError
from nanobot.messages import EventKind
from nanobot.ports import Clock
from nanobot.session.states import RunKind
from nanobot.triggers.cron.editing import JobEditor
from nanobot.triggers.cron.jobs import Fired, JobStore, Plan
from nanobot.triggers.cron.publisher import JobPublisher

LOOK_SECONDS = 30.0
"""The store is looked at so often at least: clocks jump, and other processes add jobs."""
_SET_BACK_SECONDS = 1.0
_PRUNE_SECONDS = 86_400.0
_TOGETHER_SECONDS = 0.2


class CronService:
    """Fires jobs as long as `run` runs. Several processes over one store never fire one twice."""

    def __init__(self, jobs: JobStore, bus: Bus, clock: Clock) -> None:
        self._jobs = jobs
        self._bus = bus
        self._clock = clock
        self._changed = asyncio.Event()
        self._watched: frozenset[str] = frozenset()

    def book(self, zone: str, channels: Collection[str] = ()) -> JobEditor:
        """The book of these jobs; times are in a zone where none is named. Jobs speak in chats of
        these channels (none: of any)."""
        return JobEditor(self._jobs, self._clock, zone, self.changed, channels)

    def publisher(self, plan: Plan) -> JobPublisher:
        """Takes what a trigger publishes, to be done after this plan; its name is the job's."""
        return JobPublisher(self._jobs, plan, self.changed)

    def changed(self) -> None:
        """Something about jobs is different: look now."""
        self._changed.set()

    async def run(self) -> None:
        """Fire until cancelled."""
        ends = self._bus.subscribe(None, frozenset({EventKind.END}))
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._serve(), name="cron: timer")
                async for event in ends:
                    if event.session_key in self._watched:
                        self.changed()
        finally:
            self._bus.unsubscribe(ends)

    async def fire(self) -> Fired:
        """Do what is due now, all of it; who has to act on it is woken. Raises StoreError."""
        while True:
            fired = await self._jobs.fire()
            self._watched = fired.watched
            for key in fired.wakes:
                self._bus.wake(key, RunKind.TASK)
            for address in fired.owes:
                self._bus.owed(address)
            for run in fired.stopped:
                self._bus.stopped(run)
            if not fired.more:
                return fired

    async def _serve(self) -> None:
        behind, looked = self._difference(), -_PRUNE_SECONDS
        while True:
            wait = LOOK_SECONDS
            with boundary("cron"):
                try:
                    now = self._difference()
                    long_ago = self._clock.monotonic() - looked >= _PRUNE_SECONDS
                    if long_ago or now < behind - _SET_BACK_SECONDS:
                        await self._jobs.realign()
                        looked = self._clock.monotonic()
                    behind = now
                    self._changed.clear()
                    fired = await self.fire()
                    if fired.next_due is not None:
                        wait = min(max(fired.next_due - self._clock.now(), 0.0), LOOK_SECONDS)
                except StoreError as error:
                    logger.error("jobs wait for the store: {}", error)
            await self._wait(wait)

    def _difference(self) -> float:
        """What the clock on the wall is ahead of the one that only goes forward."""
        return self._clock.now() - self._clock.monotonic()

    async def _wait(self, seconds: float) -> None:
        """So long, or until something is different. What changes together is looked at once."""
        async with asyncio.TaskGroup() as tasks:
            timer = tasks.create_task(self._clock.sleep(seconds), name="cron: wait")
            told = tasks.create_task(self._changed.wait(), name="cron: changes")
            await asyncio.wait((timer, told), return_when=asyncio.FIRST_COMPLETED)
            timer.cancel()
            told.cancel()
