"""Rate limits: token buckets that refill over time."""

from __future__ import annotations

import math
from collections import OrderedDict

from nanobot.ports import Clock

_KEPT = 4_096


class Rates:
    """Allows `burst` requests at once and `per_second` in the long run, for each key separately. If
    there are thousands of keys, the least recently used are dropped.
    """

    def __init__(self, clock: Clock, *, burst: float, per_second: float) -> None:
        self._clock = clock
        self._burst = burst
        self._per_second = per_second
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, key: str) -> int:
        """Whole seconds until the next request is allowed; 0: now."""
        left = self._left(key)
        return 0 if left >= 1 else math.ceil((1 - left) / self._per_second)

    def take(self, key: str) -> None:
        left = max(self._left(key) - 1, 0.0)
        self._buckets[key] = (left, self._clock.monotonic())
        self._buckets.move_to_end(key)
        while len(self._buckets) > _KEPT:
            self._buckets.popitem(last=False)

    def _left(self, key: str) -> float:
        left, at = self._buckets.get(key, (self._burst, 0.0))
        passed = max(self._clock.monotonic() - at, 0.0)
        return min(left + passed * self._per_second, self._burst)
