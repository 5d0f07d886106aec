"""Fair order of lanes: those of owners, those with new messages, and the backlog at the start."""

from __future__ import annotations

from collections.abc import Collection
from enum import IntEnum


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
