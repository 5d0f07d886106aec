"""The queues of wake-ups: which lanes have something to do, which chats something to send."""

from __future__ import annotations

import asyncio
import time
from typing import NamedTuple

from nanobot.bus.turns import Turn, Turns

_LONGEST_TIMER = 60.0


class WakeUps:
    """Sessions with something to do, or chats with messages to send: each at most once, in the
    order of `put` within each queue."""

    def __init__(self) -> None:
        self._waiting = Turns()
        self._takers: set[asyncio.Event] = set()

    def put(self, key: str, turn: Turn = Turn.NEW) -> None:
        """Never blocks."""
        self._waiting.put(key, turn)
        for taker in self._takers:
            taker.set()

    @property
    def waiting(self) -> bool:
        """Whether any key waits."""
        return bool(self._waiting)

    async def get(self) -> str:
        """Wait for the first key and remove it. Another event loop may take keys left here."""
        while not self._waiting:
            self._takers.add(taker := asyncio.Event())
            try:
                await taker.wait()
            finally:
                self._takers.discard(taker)
        return self._waiting.take()


class Due(NamedTuple):
    """When a lane becomes ready, by the loop's clock and the wall clock. A loop's timer stops while
    the machine sleeps, so a distant time is checked earlier."""

    loop_time: float
    wall_time: float

    def over(self, loop: asyncio.AbstractEventLoop) -> bool:
        return loop.time() >= self.loop_time or time.time() >= self.wall_time

    def looked_at(self, loop: asyncio.AbstractEventLoop) -> float:
        """When to check again, by the loop's clock."""
        return min(self.loop_time, loop.time() + _LONGEST_TIMER)
