"""A platform's own time, from the Date header of its HTTP responses: the machine's clock may be
wrong.
"""

from __future__ import annotations

from email.utils import parsedate_to_datetime

from nanobot.ports import Clock
from nanobot_channels.common.numbers import moment

_PRECISION = 3.0
"""Seconds of difference that whole seconds in a header and a slow network can cause."""


class PlatformClock:
    """The time of the last response plus the time since; the machine's time before the first."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ahead: float | None = None
        """Seconds from the machine's monotonic clock to the platform's time."""

    @property
    def is_set(self) -> bool:
        """Whether any response had a Date header."""
        return self._ahead is not None

    def read_date(self, date: str | None) -> None:
        """A response arrived with this Date header (RFC 9110, 6.6.1), which has whole seconds."""
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
