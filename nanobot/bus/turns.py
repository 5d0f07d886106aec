"""Whose turn it is: lanes of owners, lanes with something new, and what waited at the start."""

from __future__ import annotations

from collections.abc import Collection
from enum import IntEnum


class Turn(IntEnum):
    """The queue that a lane waits in, the one that is waited in shortest first."""

    OWNER = 0
    NEW = 1
    BACKLOG = 2


def chosen(waiting: Collection[Turn], last: Turn) -> Turn:
    """The queue to take from, of those in which something waits (at least one), after `last`. Each
    of them is chosen at least once in as many choices as there are queues."""
    return min(waiting, key=lambda turn: (turn - last - 1) % len(Turn))


class Turns:
    """Keys that wait, each at most once. Those of one queue keep their order; the queues take
    turns, so that nobody waits for a whole backlog, and the backlog does not wait for ever."""

    def __init__(self) -> None:
        self._queues: dict[Turn, dict[str, None]] = {turn: {} for turn in Turn}
        self._last = Turn.BACKLOG

    def __bool__(self) -> bool:
        return any(self._queues.values())

    def put(self, key: str, turn: Turn) -> None:
        """Wait in that queue, or stay in a better one."""
        for other in Turn:
            if key in self._queues[other]:
                if other <= turn:
                    return
                del self._queues[other][key]
        self._queues[turn][key] = None

    def take(self) -> str:
        """The next one, which waits no more; there must be one."""
        self._last = chosen([turn for turn in Turn if self._queues[turn]], self._last)
        queue = self._queues[self._last]
        key = next(iter(queue))
        del queue[key]
        return key
