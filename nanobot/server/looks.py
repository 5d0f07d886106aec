"""When a process looks into the store for what the others left there."""

from __future__ import annotations

from collections.abc import Callable

from nanobot.ports import Clock
from nanobot.supervision import Looks


class PeerLooks(Looks):
    """Often while the processes tell each other something, and while nothing is heard of them
    (`hears` says whether it is); rarely else: a beat sees whether anything new is open."""

    def __init__(self, clock: Clock, hears: Callable[[], bool]) -> None:
        super().__init__(clock, often=2.0, lasting=20.0)
        self._hears = hears

    def often(self) -> bool:
        return not self._hears() or super().often()
