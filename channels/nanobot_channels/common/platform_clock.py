"""A platform's own time, by the Date header of its HTTP answers: the machine's clock may be
wrong."""

from __future__ import annotations

from email.utils import parsedate_to_datetime

from nanobot.ports import Clock
from nanobot_channels.common.numbers import moment

_PRECISION = 3.0
"""Seconds of difference that may come from whole seconds in a header and a slow network."""


class PlatformClock:
    """The time of the last answer, and what has passed since; the machine's before the first."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ahead: float | None = None
        """Seconds from the machine's monotonic clock to the platform's time."""

    @property
    def is_set(self) -> bool:
        """Whether an answer had a Date header."""
        return self._ahead is not None

    def read_date(self, date: str | None) -> None:
        """An answer came with this Date header (RFC 9110, 6.6.1), which has whole seconds."""
        try:
            seconds = parsedate_to_datetime(date or "").timestamp()
        except (ValueError, TypeError, OverflowError, OSError):
            return
        if moment(seconds, 0.0):
            self._ahead = seconds - self._clock.monotonic()

    def at(self, moment: float) -> float:
        """The machine's Unix time `moment` converted to the platform's clock."""
        ahead = self.now() - self._clock.now()
        return moment + ahead if abs(ahead) > _PRECISION else moment

    def now(self) -> float:
        """The platform's time in Unix seconds."""
        return self._clock.now() if self._ahead is None else self._clock.monotonic() + self._ahead
