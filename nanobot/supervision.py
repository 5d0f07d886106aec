"""Supervision: works that last as long as the process. One that fails is named and started again,
and no other one notices."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol, TypeAlias

from loguru import logger

from nanobot.boundary import boundary
from nanobot.retries import Backoff

_RESTARTS = Backoff(first=1.0, longest=300.0)
_STEADY_SECONDS = 600.0
"""A work that ran so long before it failed begins with the first pause again."""

Work: TypeAlias = Callable[[], Awaitable[None]]


class Pass:
    """One pass over many things, each of which may fail alone: `failed` says which did, and why."""

    def __init__(self) -> None:
        self.failed: dict[str, Exception] = {}

    @contextmanager
    def each(self, what: str) -> Iterator[None]:
        """Contain a failure within: it is named, and the pass continues."""
        with boundary(what) as caught:
            yield
        if caught.error is not None:
            self.failed[what] = caught.error


class Clock(Protocol):
    """The part of ports.Clock that measures and waits."""

    def monotonic(self) -> float:
        """Seconds that never go back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


async def supervised(name: str, work: Work, clock: Clock) -> None:
    """Do `work` until it ends without a failure, or until cancelled. After a failure it is started
    again, first after a second and later after up to five minutes."""
    failures = 0
    while True:
        began = clock.monotonic()
        with boundary(name) as caught:
            await work()
        if caught.error is None:
            return
        if clock.monotonic() - began >= _STEADY_SECONDS:
            failures = 0
        failures += 1
        pause = _RESTARTS.delay(failures)
        logger.warning("{} is started again in {:g} s", name, pause)
        await clock.sleep(pause)


def begin_all(
    tasks: asyncio.TaskGroup, works: Mapping[str, Work], clock: Clock
) -> list[asyncio.Task[None]]:
    """Begin works, each supervised under its name; returns their tasks, in the same order."""
    return [
        tasks.create_task(supervised(name, work, clock), name=name) for name, work in works.items()
    ]


async def side_by_side(works: Mapping[str, Work], clock: Clock) -> None:
    """Do these works at once, each supervised under its name, until cancelled."""
    async with asyncio.TaskGroup() as tasks:
        begin_all(tasks, works, clock)


async def slept(clock: Clock, seconds: float, unless: asyncio.Event) -> None:
    """Wait so long, or until the event is set."""
    async with asyncio.TaskGroup() as tasks:
        due = tasks.create_task(clock.sleep(seconds), name="slept: due")
        early = tasks.create_task(unless.wait(), name="slept: early")
        await asyncio.wait((due, early), return_when=asyncio.FIRST_COMPLETED)
        due.cancel()
        early.cancel()


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
