"""Ages that stay correct when the machine's clock is set."""

from __future__ import annotations

from nanobot.ports import Clock

_SET_SECONDS = 5.0
_KEPT = 16


class Ages:
    """The age of a timestamp of this machine's clock, in elapsed seconds. A jump relative to the
    monotonic clock means that the clock was set; an earlier timestamp is then read by the earlier
    setting. If both readings are possible, the younger age counts, so nothing is given up too
    early."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._now = clock.now()
        self._monotonic = clock.monotonic()
        # For each clock setting: the last timestamp of its use, and its offset to the monotonic
        # clock.
        self._before: list[tuple[float, float]] = []

    def of(self, stamp: float) -> float:
        """Elapsed seconds since then; never below zero."""
        self._look()
        offsets = [offset for until, offset in self._before if stamp <= until]
        offsets.append(self._now - self._monotonic)
        ages = [self._monotonic - (stamp - offset) for offset in offsets]
        return min((age for age in ages if age >= 0), default=0.0)

    def _look(self) -> None:
        now, monotonic = self._clock.now(), self._clock.monotonic()
        expected = self._now + (monotonic - self._monotonic)
        if abs(now - expected) > _SET_SECONDS:
            self._before.append((expected, self._now - self._monotonic))
            del self._before[:-_KEPT]
        self._now, self._monotonic = now, monotonic
