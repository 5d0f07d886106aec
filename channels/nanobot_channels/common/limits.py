"""Rate limits of a platform, as its responses report them."""

from __future__ import annotations

from nanobot.ports import Clock

PATIENT_SECONDS = 10.0
"""The longest that a call waits for its turn; if the wait would be longer, the caller is told at
once.
"""
_LONGEST = 3_600.0
"""The longest pause that a response can cause, however absurd its number."""
_MOST = 1_000


class Limits:
    """Kinds of calls that are blocked until a certain time. A call beyond a limit would be refused,
    and some platforms ban clients with too many of those.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._closed: dict[str, float] = {}

    def close(self, kind: str, seconds: float | None) -> None:
        """Block calls of that kind for this many seconds; None: the duration is unknown, and
        nothing is blocked.
        """
        if not seconds or seconds < 0:
            return
        now = self._clock.monotonic()
        until = now + min(seconds, _LONGEST)
        self._closed[kind] = max(self._closed.get(kind, 0.0), until)
        if len(self._closed) > _MOST:
            self._closed = {kind: end for kind, end in self._closed.items() if end > now}

    def left(self, *kinds: str) -> float:
        """Seconds until calls of all these kinds are allowed; 0 if they are allowed now."""
        until = max(self._closed.get(kind, 0.0) for kind in kinds)
        return max(until - self._clock.monotonic(), 0.0)

    async def turn(self, *kinds: str) -> float:
        """Wait for the turn of a call if the wait is short; otherwise return the remaining seconds.
        Returns 0 if the call may be made.
        """
        while 0 < (left := self.left(*kinds)) <= PATIENT_SECONDS:
            await self._clock.sleep(left)
        return left
