"""Measures the duration of model calls."""

from __future__ import annotations

from typing import TypedDict

from nanobot.ports import Clock


class TimesOfCall(TypedDict, total=False):
    """A model, and the milliseconds to the first piece and to the end of its answer."""

    model: str
    ms: int
    first_ms: int


class CallTimes:
    """The times of the most recent call."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._model = ""
        self._began = 0.0
        self._first: float | None = None

    def begin(self, model: str) -> None:
        """A call begins."""
        self._model, self._began, self._first = model, self._clock.monotonic(), None

    def piece(self) -> None:
        """A piece of the answer arrived; only the first one counts."""
        if self._first is None:
            self._first = self._clock.monotonic()

    @property
    def first_ms(self) -> int:
        """Milliseconds to the first piece; 0 if there was none."""
        return 0 if self._first is None else self._since(self._first)

    def ended(self) -> TimesOfCall:
        """The answer is complete."""
        now = self._clock.monotonic()
        first = now if self._first is None else self._first
        return TimesOfCall(model=self._model, ms=self._since(now), first_ms=self._since(first))

    def _since(self, at: float) -> int:
        return max(round((at - self._began) * 1000), 0)
