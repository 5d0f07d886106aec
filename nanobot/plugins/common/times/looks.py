"""When a periodic task looks at the store again: often while something happens, rarely else."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from nanobot.bus.core import Bus
from nanobot.messages import EventKind, RunEvent
from nanobot.plugins.common.event_handlers import Handler
from nanobot.retries import Clock


class Looks:
    """When a work looks at the store again: every `often` seconds for `lasting` seconds after
    something happened, every `rarely` seconds else."""

    def __init__(
        self, clock: Clock, *, often: float, lasting: float, rarely: float = 300.0
    ) -> None:
        self._clock = clock
        self._seconds = (often, rarely, lasting)
        self._until = clock.monotonic() + lasting
        self._stirred = asyncio.Event()

    def stir(self) -> None:
        """Something happens, or may have happened unheard."""
        often = self.often()
        self._until = self._clock.monotonic() + self._seconds[2]
        if not often:
            self._stirred.set()
            self._stirred = asyncio.Event()  # those that wait look once

    def often(self) -> bool:
        """Whether something happened lately."""
        return self._clock.monotonic() < self._until

    async def due(self, within: float = math.inf) -> None:
        """Return when the store is to be looked at again, after so many seconds at most."""
        began, (often, rarely, _) = self._clock.monotonic(), self._seconds
        if not self.often():
            stirred = self._stirred
            await slept(self._clock, min(within, rarely), stirred)
            if not stirred.is_set():
                return
        passed = self._clock.monotonic() - began
        await self._clock.sleep(max(0.0, min(often, within) - passed))


@contextmanager
def stirred(
    looks: Looks, bus: Bus, kind: EventKind, note: Callable[[str], object] | None = None
) -> Iterator[None]:
    """While active, each such event counts as activity. `note` is called with its session."""

    def heard(event: RunEvent) -> None:
        if note is not None:
            note(event.session_key)
        looks.stir()

    events = Handler(frozenset({kind}), heard)
    bus.watch(events)
    try:
        yield
    finally:
        bus.unsubscribe(events)


async def slept(clock: Clock, seconds: float, unless: asyncio.Event) -> None:
    """Wait so long, or until the event is set."""
    async with asyncio.TaskGroup() as tasks:
        due = tasks.create_task(clock.sleep(seconds), name="slept: due")
        early = tasks.create_task(unless.wait(), name="slept: early")
        await asyncio.wait((due, early), return_when=asyncio.FIRST_COMPLETED)
        due.cancel()
        early.cancel()
