"""The service that fires jobs. It has one timer for the next due job and no state that must
survive.

Due times and their results are kept only in the store. A crash at any point, a changed clock and a
laptop that slept are therefore handled alike: the service reads the store and runs the due jobs. It
reads a little at a time, so that no other user of the store waits long, however many jobs exist.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from loguru import logger

from nanobot.boundary import boundary
from nanobot.bus.core import Bus
from nanobot.errors import StoreError, UsageError
from nanobot.messages import EventKind, Origin, RunEvent
from nanobot.plugins.common.event_handlers import Handler
from nanobot.plugins.common.jobs.plans import Fired, Plan
from nanobot.plugins.common.jobs.service import Jobs
from nanobot.plugins.jobs.plans import plan_of
from nanobot.plugins.jobs.publisher import JobPublisher
from nanobot.plugins.jobs.rules import JobStore
from nanobot.ports import Clock
from nanobot.session.states import RunKind

LOOK_SECONDS = 30.0
"""The clock is checked at least this often: clocks jump, and machines sleep."""
_SWEEP_SECONDS = 120.0
"""Everything is checked at least this often, because other processes add jobs."""
_OPEN_SECONDS = 3.0
"""While a run is unfinished, everything is checked this often: notifications from other processes
are hints that may get lost. If a check takes long, the interval is `_SHARE` times its duration.
"""
_SHARE = 20.0
_SET_BACK_SECONDS = 1.0
_PRUNE_SECONDS = 86_400.0
_SETTLED_AT_ONCE = 50


class CronService:
    """Fires jobs while `run` is running. Several processes that share a store never fire an
    occurrence twice.
    """

    def __init__(self, jobs: Jobs, bus: Bus, clock: Clock) -> None:
        """`jobs`: those of `MessageBus.jobs`. Raises UsageError for any others."""
        if not isinstance(jobs, JobStore):
            kind = type(jobs).__name__
            raise UsageError(f"cron_service: its jobs are a {kind}: make it with `MessageBus.jobs`")
        self.jobs: JobStore = jobs
        self.bus = bus
        self.clock = clock
        self._changed = asyncio.Event()
        self.on_announced: Callable[[], None] | None = None
        """Called when this process changed jobs, because another process may have to fire them."""
        self._watched: frozenset[str] = frozenset()
        self._ended: dict[str, None] = {}
        self._looking = 0
        self._next_due: float | None = None
        self._swept_at: float | None = None
        self._sweep_took = 0.0
        self._changed_elsewhere = False
        self._realigned_at: float | None = None
        self._offset = self._clock_offset()

    def trigger_plan(self, name: str, to: str, origin: Origin, zone: str) -> Plan:
        """The plan for the trigger `name`, whose answers go to the chat `to`, as CHANNEL:ID."""
        return plan_of(name, to, origin, zone)

    def publisher(self, plan: Plan) -> JobPublisher:
        """A publisher for a trigger: each prompt runs by this plan, whose name is the job's."""
        return JobPublisher(self.jobs, plan, self.announce)

    def announce(self, fired: Fired) -> None:
        """Announce changed jobs and the result: wake the sessions and chats with work, and check
        jobs now.
        """
        self._act(fired)
        # A fast worker ended it before it was recorded here.
        self._ended.update(dict.fromkeys(fired.watched))
        self.look()
        if self.on_announced is not None:
            self.on_announced()

    def look(self) -> None:
        """Check the jobs now."""
        self._changed.set()

    def look_at_all(self) -> None:
        """Another process changed jobs: check them now, and soon after that what it started."""
        self._changed_elsewhere = True
        self._changed.set()

    async def run(self) -> None:
        """Fire jobs until cancelled. It may be called again, also on another event loop."""
        self._changed = asyncio.Event()
        ends = Handler(frozenset({EventKind.END}), self._note_end)
        self.bus.watch(ends)
        try:
            await self._serve()
        finally:
            self.bus.unsubscribe(ends)

    def _note_end(self, event: RunEvent) -> None:
        if self._looking or event.session_key in self._watched:
            self._ended[event.session_key] = None
            self._changed.set()

    async def fire(self) -> Fired:
        """Settle all ended runs and fire all due jobs, and wake their sessions and chats. Raises
        StoreError.
        """
        begun = self.clock.monotonic()
        with self._noting_ends():
            swept = await self._sweep()
            released = await self._release()
            self._swept_at = self.clock.monotonic()
            self._sweep_took = self._swept_at - begun
            return swept.then(released).then(await self._fire())

    async def _sweep(self) -> Fired:
        """Check all unfinished occurrences, and rebuild the set of sessions to watch."""
        total, after = Fired(), None
        before, self._watched, self._ended = self._watched, frozenset(), {}
        self._changed_elsewhere, whole = False, False
        try:
            while not whole:
                fired, after = await self.jobs.sweep(after)
                self._act(fired)
                total = total.then(fired)
                whole = after is None
        finally:
            if not whole:
                self._watched |= before
        return total

    async def _release(self) -> Fired:
        total, after = Fired(), None
        while True:
            fired, after = await self.jobs.release(after)
            self._act(fired)
            total = total.then(fired)
            if after is None:
                return total

    async def _settle(self) -> None:
        """Settle runs that are known to have ended."""
        while self._ended:
            sessions = list(self._ended)[:_SETTLED_AT_ONCE]
            # Removed first: sessions whose runs end in the meantime are added again.
            for key in sessions:
                del self._ended[key]
            more = True
            try:
                fired = await self.jobs.settle(sessions)
                self._act(fired)
                more = fired.more
            finally:
                if more:
                    self._ended.update(dict.fromkeys(sessions))

    async def _fire(self) -> Fired:
        total = Fired()
        while True:
            fired = await self.jobs.fire()
            self._act(fired)
            total = total.then(fired)
            if not fired.more:
                return total

    def _act(self, fired: Fired) -> None:
        self._watched |= fired.watched
        for key in fired.wakes:
            self.bus.wake(key, RunKind.TASK)
        for address in fired.owes:
            self.bus.owed(address)
        for run in fired.stopped:
            self.bus.stopped(run)

    async def _serve(self) -> None:
        while True:
            wait = LOOK_SECONDS
            with boundary("cron"):
                try:
                    changed = self._changed.is_set()
                    self._changed.clear()
                    changed |= await self._look_after_clock()
                    if changed or self._is_due():
                        self._next_due = (await self._look()).next_due
                    if self._next_due is not None:
                        wait = min(max(self._next_due - self.clock.now(), 0.0), LOOK_SECONDS)
                    wait = min(wait, max(self._sweep_in(), 0.0))
                except StoreError as error:
                    self._next_due = 0.0
                    logger.error("jobs wait for the store: {}", error)
            await self._wait(wait)

    def _is_due(self) -> bool:
        """Whether there is anything to do, as far as this process knows."""
        due = self._next_due is not None and self._next_due <= self.clock.now()
        return due or bool(self._ended) or self._sweep_in() <= 0

    async def _look(self) -> Fired:
        """Check everything from time to time, otherwise only known changes."""
        if self._sweep_in() <= 0:
            return await self.fire()
        await self._settle()
        with self._noting_ends():
            return await self._fire()

    def _sweep_in(self) -> float:
        """Seconds until the next full check."""
        if self._swept_at is None:
            return 0.0
        pause = _SWEEP_SECONDS
        if self._watched or self._changed_elsewhere:
            pause = min(max(_OPEN_SECONDS, _SHARE * self._sweep_took), LOOK_SECONDS)
        return self._swept_at + pause - self.clock.monotonic()

    @contextmanager
    def _noting_ends(self) -> Iterator[None]:
        """Record runs that end during a query: they may be among those that the query returns."""
        self._looking += 1
        try:
            yield
        finally:
            self._looking -= 1

    async def _look_after_clock(self) -> bool:
        """Each day, and after the clock was set back, recompute when jobs are due; returns whether
        that was done now.
        """
        now, offset = self.clock.monotonic(), self._clock_offset()
        daily = self._realigned_at is None or now - self._realigned_at >= _PRUNE_SECONDS
        again = daily or offset < self._offset - _SET_BACK_SECONDS
        if again:
            after: int | None = 0
            while after is not None:
                after = await self.jobs.realign(after)
            after = 0
            while after is not None:
                after = await self.jobs.prune(after)
            self._realigned_at = now
        self._offset = offset
        return again

    def _clock_offset(self) -> float:
        """The difference between the wall clock and the monotonic clock."""
        return self.clock.now() - self.clock.monotonic()

    async def _wait(self, seconds: float) -> None:
        """Wait this long, or until there is a change."""
        async with asyncio.TaskGroup() as tasks:
            timer = tasks.create_task(self.clock.sleep(seconds), name="cron: wait")
            changed = tasks.create_task(self._changed.wait(), name="cron: changes")
            await asyncio.wait((timer, changed), return_when=asyncio.FIRST_COMPLETED)
            timer.cancel()
            changed.cancel()
