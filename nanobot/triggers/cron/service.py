"""The service that fires jobs: one timer to what is due next, and nothing that must not be lost.

What is due, and what became of it, is in the store alone. So a crash at any point, a clock that is
set and a laptop that slept are all the same to it: it looks at the store, and does what is due. It
asks for little at a time, so that nobody waits long for the store, however many jobs there are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

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
from nanobot.triggers.cron.zone_question import ZoneQuestion

LOOK_SECONDS = 30.0
"""The clock is looked at so often at least: clocks jump, and machines sleep."""
_SWEEP_SECONDS = 120.0
"""All of it is looked at so often at least: other processes add jobs."""
_OPEN_SECONDS = 3.0
"""While something is not done all of it is looked at so often: what other processes tell of it is
a hint, which may not come. Where that takes long, `_SHARE` times as long as it took."""
_SHARE = 20.0
_SET_BACK_SECONDS = 1.0
_PRUNE_SECONDS = 86_400.0
_SETTLED_AT_ONCE = 50


class CronService:
    """Fires jobs as long as `run` runs. Several processes over one store never fire one twice."""

    def __init__(self, jobs: JobStore, bus: Bus, clock: Clock) -> None:
        self._jobs = jobs
        self.bus = bus
        self._clock = clock
        self._changed = asyncio.Event()
        self.on_announced: Callable[[], None] | None = None
        """Called when jobs were changed here, which another process may be the one to fire."""
        self._watched: frozenset[str] = frozenset()
        self._ended: dict[str, None] = {}
        self._looking = 0
        self._next_due: float | None = None
        self._swept_at: float | None = None
        self._sweep_took = 0.0
        self._changed_elsewhere = False
        self._realigned_at: float | None = None
        self._offset = self._clock_offset()

    def editor(
        self, zone: str, channels: Collection[str] = (), *, zone_known: bool = True
    ) -> JobEditor:
        """The editor of these jobs; times are in a zone where none is named, which is asked for
        unless it is known to be that of the people. Jobs speak in chats of these channels (none: of
        any)."""
        editor = JobEditor(self._jobs, self._clock, zone, self.announce, channels)
        editor.zone_question = None if zone_known else ZoneQuestion(self._jobs)
        return editor

    def publisher(self, plan: Plan) -> JobPublisher:
        """Takes what a trigger publishes, to be done after this plan; its name is the job's."""
        return JobPublisher(self._jobs, plan, self.announce)

    def announce(self, fired: Fired) -> None:
        """Jobs have changed, and this has become of it: who has to act is woken, and jobs are
        looked at now."""
        self._act(fired)
        # Whoever was quick has ended it before this was known here.
        self._ended.update(dict.fromkeys(fired.watched))
        self.look()
        if self.on_announced is not None:
            self.on_announced()

    def look(self) -> None:
        """Look at the jobs now."""
        self._changed.set()

    def look_at_all(self) -> None:
        """Another process has changed jobs: look at the jobs now, and soon at what it has begun."""
        self._changed_elsewhere = True
        self._changed.set()

    async def run(self) -> None:
        """Fire until cancelled. It may be called again after that, by another event loop too."""
        self._changed = asyncio.Event()
        ends = self.bus.subscribe(None, frozenset({EventKind.END}))
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._serve(), name="cron: timer")
                async for event in ends:
                    if self._looking or event.session_key in self._watched:
                        self._ended[event.session_key] = None
                        self._changed.set()
        finally:
            self.bus.unsubscribe(ends)

    async def fire(self) -> Fired:
        """Settle whatever has ended and do what is due now, all of it; who has to act on it is
        woken. Raises StoreError."""
        begun = self._clock.monotonic()
        with self._noting_ends():
            swept = await self._sweep()
            released = await self._release()
            self._swept_at = self._clock.monotonic()
            self._sweep_took = self._swept_at - begun
            return swept.then(released).then(await self._fire())

    async def _sweep(self) -> Fired:
        """Look at everything that is not done, and begin anew to know which ends are waited for."""
        total, after = Fired(), None
        before, self._watched, self._ended = self._watched, frozenset(), {}
        self._changed_elsewhere, whole = False, False
        try:
            while not whole:
                fired, after = await self._jobs.sweep(after)
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
            fired, after = await self._jobs.release(after)
            self._act(fired)
            total = total.then(fired)
            if after is None:
                return total

    async def _settle(self) -> None:
        """Settle what is known to have ended."""
        while self._ended:
            sessions = list(self._ended)[:_SETTLED_AT_ONCE]
            # Taken away first: whatever ends there meanwhile stands in it again.
            for key in sessions:
                del self._ended[key]
            more = True
            try:
                fired = await self._jobs.settle(sessions)
                self._act(fired)
                more = fired.more
            finally:
                if more:
                    self._ended.update(dict.fromkeys(sessions))

    async def _fire(self) -> Fired:
        total = Fired()
        while True:
            fired = await self._jobs.fire()
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
                        wait = min(max(self._next_due - self._clock.now(), 0.0), LOOK_SECONDS)
                    wait = min(wait, max(self._sweep_in(), 0.0))
                except StoreError as error:
                    self._next_due = 0.0
                    logger.error("jobs wait for the store: {}", error)
            await self._wait(wait)

    def _is_due(self) -> bool:
        """Whether there is anything to do, as far as is known here."""
        due = self._next_due is not None and self._next_due <= self._clock.now()
        return due or bool(self._ended) or self._sweep_in() <= 0

    async def _look(self) -> Fired:
        """All of it from time to time, else what is known to have changed."""
        if self._sweep_in() <= 0:
            return await self.fire()
        await self._settle()
        with self._noting_ends():
            return await self._fire()

    def _sweep_in(self) -> float:
        """Seconds until all of it is looked at."""
        if self._swept_at is None:
            return 0.0
        pause = _SWEEP_SECONDS
        if self._watched or self._changed_elsewhere:
            pause = min(max(_OPEN_SECONDS, _SHARE * self._sweep_took), LOOK_SECONDS)
        return self._swept_at + pause - self._clock.monotonic()

    @contextmanager
    def _noting_ends(self) -> Iterator[None]:
        """What ends while the store is asked may be of what the store tells in a moment."""
        self._looking += 1
        try:
            yield
        finally:
            self._looking -= 1

    async def _look_after_clock(self) -> bool:
        """Each day, and where a clock was set back, jobs are due when their schedules say; whether
        that was looked at now."""
        now, offset = self._clock.monotonic(), self._clock_offset()
        daily = self._realigned_at is None or now - self._realigned_at >= _PRUNE_SECONDS
        again = daily or offset < self._offset - _SET_BACK_SECONDS
        if again:
            after: int | None = 0
            while after is not None:
                after = await self._jobs.realign(after)
            while await self._jobs.prune():
                pass
            self._realigned_at = now
        self._offset = offset
        return again

    def _clock_offset(self) -> float:
        """What the clock on the wall is ahead of the one that only goes forward."""
        return self._clock.now() - self._clock.monotonic()

    async def _wait(self, seconds: float) -> None:
        """So long, or until something is different."""
        async with asyncio.TaskGroup() as tasks:
            timer = tasks.create_task(self._clock.sleep(seconds), name="cron: wait")
            changed = tasks.create_task(self._changed.wait(), name="cron: changes")
            await asyncio.wait((timer, changed), return_when=asyncio.FIRST_COMPLETED)
            timer.cancel()
            changed.cancel()
