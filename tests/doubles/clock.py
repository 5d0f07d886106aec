"""A clock whose sleeps take no time."""

from __future__ import annotations

import asyncio


class ManualClock:
    """Sleeping moves it on at once and is written down in `sleeps`."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.sleeps: list[float] = []
        self._now = now
        self._monotonic = 1_000.0

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    async def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.advance(seconds)
        await asyncio.sleep(0)

    def advance(self, seconds: float) -> None:
        self._now += seconds
        self._monotonic += seconds
