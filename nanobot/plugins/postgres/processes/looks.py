"""When a process polls the store for what other processes left there."""

from __future__ import annotations

from collections.abc import Callable

from nanobot.plugins.common.times.looks import Looks
from nanobot.ports import Clock


class PeerLooks(Looks):
    """Often while the processes exchange notices, and while the connection for notices is down
    (`hears` tells whether it is up); otherwise rarely: a beat shows whether there is new work.
    """

    def __init__(self, clock: Clock, hears: Callable[[], bool]) -> None:
        super().__init__(clock, often=2.0, lasting=20.0)
        self._hears = hears

    def often(self) -> bool:
        return not self._hears() or super().often()
