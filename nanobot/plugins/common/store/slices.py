"""The share of one transaction in work that takes several."""

from __future__ import annotations

from nanobot.ports import Clock

_SLICE_SECONDS = 0.008
_SLICE_STEPS = 200


class Slice:
    """The most work of one transaction before others get a turn: a few milliseconds, and this many
    steps in case the clock does not advance.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until = clock.monotonic() + _SLICE_SECONDS
        self._left = _SLICE_STEPS

    def step(self) -> bool:
        """Whether one more step is allowed; the first always is."""
        first = self._left == _SLICE_STEPS
        self._left -= 1
        return first or (self._left >= 0 and self._clock.monotonic() < self._until)
