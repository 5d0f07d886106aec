"""How old things are on a machine whose clock may be set while they wait."""

from __future__ import annotations

from nanobot.ports import Clock

_SET_SECONDS = 5.0
_KEPT = 16


class Ages:
    """The age of what was stamped with this machine's clock, in seconds as they passed. The clock
    was set whenever it has moved against the monotonic one: a stamp from before is read by the
    clock of then. Of two readings the younger counts, so that nothing is given up too early."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._now = clock.now()
        self._monotonic = clock.monotonic()
        # Until which stamp each setting of the clock was in use, and how far it stood from the
        # monotonic one.
        self._before: list[tuple[float, float]] = []

    def of(self, stamp: float) -> float:
        """Seconds since then; never below zero."""
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
