"""Time and ids under the control of tests."""

from __future__ import annotations

import asyncio
import heapq

PATIENCE = 30.0
"""Real seconds until an awaited operation times out, so that a broken test ends."""


class ManualClock:
    """Time under the control of tests. `instant`: a sleep advances the time and ends at once.
    Otherwise it ends when `advance` has reached its end. `sleeps` lists the requested durations.
    """

    def __init__(self, now: float = 1_800_000_000.0, *, instant: bool = True) -> None:
        self.sleeps: list[float] = []
        self._now = now
        self._monotonic = 1_000.0
        self._instant = instant
        self._asleep: list[tuple[float, int, asyncio.Future[None]]] = []
        self._fell_asleep = asyncio.Event()

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        """Monotonic seconds."""
        return self._monotonic

    async def sleep(self, seconds: float) -> None:
        """Wait, or advance the time."""
        self.sleeps.append(seconds)
        if self._instant:
            self.advance(max(seconds, 0.0))
            await asyncio.sleep(0)
            return
        until: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._asleep, (self._monotonic + seconds, len(self.sleeps), until))
        self._fell_asleep.set()
        await until

    def advance(self, seconds: float) -> None:
        """Advance the time, and wake the sleepers that are due."""
        self._now += seconds
        self._monotonic += seconds
        while self._asleep and self._asleep[0][0] <= self._monotonic:
            until = heapq.heappop(self._asleep)[2]
            if not until.done():
                until.set_result(None)

    def set_by(self, seconds: float) -> None:
        """Set the wall clock; no time passes."""
        self._now += seconds

    async def asleep(self, count: int = 1) -> None:
        """Wait until that many are sleeping at once (only if not `instant`)."""
        async with asyncio.timeout(PATIENCE):
            while sum(not until.done() for _due, _number, until in self._asleep) < count:
                self._fell_asleep.clear()
                await self._fell_asleep.wait()


class CountingIds:
    """Sequential ids, so that every test run writes the same bytes."""

    def __init__(self) -> None:
        self._count = 0

    def run_id(self) -> str:
        """run-000001, run-000002, ..."""
        self._count += 1
        return f"run-{self._count:06}"

    def salt(self) -> bytes:
        """The next number in 16 bytes."""
        self._count += 1
        return self._count.to_bytes(16, "big")
