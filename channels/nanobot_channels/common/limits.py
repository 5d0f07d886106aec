"""What a platform wants no more of for a while, as its answers said."""

from __future__ import annotations

from nanobot.ports import Clock

PATIENT_SECONDS = 10.0
"""So long a call waits for its turn; what would take longer is told to the caller at once."""
_LONGEST = 3_600.0
"""Longer than that nobody is silent because of one answer, however absurd its number."""
_MOST = 1_000


class Limits:
    """Kinds of calls that are closed until a moment. A call beyond a limit is one that the platform
    would refuse, and some ban who makes too many of those."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._closed: dict[str, float] = {}

    def close(self, kind: str, seconds: float | None) -> None:
        """No calls of that kind for so long; with None nothing is known and nothing closed."""
        if not seconds or seconds < 0:
            return
        now = self._clock.monotonic()
        until = now + min(seconds, _LONGEST)
        self._closed[kind] = max(self._closed.get(kind, 0.0), until)
        if len(self._closed) > _MOST:
            self._closed = {kind: end for kind, end in self._closed.items() if end > now}

    def left(self, *kinds: str) -> float:
        """Seconds until calls of all these kinds may be made; 0 when they may."""
        until = max(self._closed.get(kind, 0.0) for kind in kinds)
        return max(until - self._clock.monotonic(), 0.0)

    async def turn(self, *kinds: str) -> float:
        """Wait until they may, if that is not long; returns the seconds that are left else, 0 if it
        is their turn."""
        while 0 < (left := self.left(*kinds)) <= PATIENT_SECONDS:
            await self._clock.sleep(left)
        return left
