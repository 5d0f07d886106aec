"""The queues of wake-ups: which lanes have something to do, which chats something to send."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection
from enum import IntEnum
from typing import NamedTuple

_LONGEST_TIMER = 60.0


class Turn(IntEnum):
    """The queue of a lane, the one with the shortest wait first."""

    OWNER = 0
    NEW = 1
    BACKLOG = 2


def chosen(waiting: Collection[Turn], last: Turn) -> Turn:
    """The next queue to take from after `last`, among those with waiting keys (at least one). Each
    queue gets at least one of as many turns as there are queues."""
    return min(waiting, key=lambda turn: (turn - last - 1) % len(Turn))


class Turns:
    """Waiting keys, each at most once. Each queue keeps its order. The queues take turns, so no key
    waits for a whole backlog, and the backlog does not wait forever."""

    def __init__(self) -> None:
        self._queues: dict[Turn, dict[str, None]] = {turn: {} for turn in Turn}
        self._last = Turn.BACKLOG

    def __bool__(self) -> bool:
        return any(self._queues.values())

    def put(self, key: str, turn: Turn) -> None:
        """Add the key to that queue, or leave it in a better one."""
        for other in Turn:
            if key in self._queues[other]:
                if other <= turn:
                    return
                del self._queues[other][key]
        self._queues[turn][key] = None

    def take(self) -> str:
        """Remove and return the next key. At least one must wait."""
        self._last = chosen([turn for turn in Turn if self._queues[turn]], self._last)
        queue = self._queues[self._last]
        key = next(iter(queue))
        del queue[key]
        return key


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
