"""Measures how late an event loop runs its timers, while a client watches."""

from __future__ import annotations

import asyncio
from collections import deque
from weakref import WeakKeyDictionary

_EVERY = 0.05
_KEPT_SECONDS = 60.0
_WATCHED_SECONDS = 75.0
"""Longer than the longest interval between two looks, so that none sees a gap."""


class LoopLag:
    """Samples of one event loop. Sampling begins with the first look and ends 75 s after the last,
    so a gateway without watchers has no timer for it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._samples: deque[tuple[float, float]] = deque()
        self._watched_until = 0.0
        self._timer: asyncio.TimerHandle | None = None

    async def largest(self, seconds: float) -> float:
        """The largest lag of the last seconds, in seconds. The first look waits for a sample."""
        self._watched_until = self._loop.time() + _WATCHED_SECONDS
        if self._timer is None:
            self._next()
        if not self._samples:
            await asyncio.sleep(_EVERY)
        since = self._loop.time() - seconds
        recent = [lag for at, lag in self._samples if at >= since]
        # A timer that is due and has not run yet is late already.
        pending = 0.0 if self._timer is None else self._loop.time() - self._timer.when()
        return max([*recent, pending, 0.0])

    def _next(self) -> None:
        due = self._loop.time() + _EVERY
        self._timer = self._loop.call_at(due, self._look, due)

    def _look(self, due: float) -> None:
        now = self._loop.time()
        self._samples.append((now, max(now - due, 0.0)))
        while self._samples[0][0] < now - _KEPT_SECONDS:
            self._samples.popleft()
        if now < self._watched_until:
            self._next()
        else:
            self._timer = None
            self._samples.clear()


_LAGS: WeakKeyDictionary[asyncio.AbstractEventLoop, LoopLag] = WeakKeyDictionary()


def lag_of(loop: asyncio.AbstractEventLoop) -> LoopLag:
    """The single measurement of a loop."""
    return _LAGS.setdefault(loop, LoopLag(loop))
