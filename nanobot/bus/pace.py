"""Events of runs make periodic tasks check the store more often."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from nanobot.bus.core import Bus, Subscription
from nanobot.messages import EventKind, RunEvent
from nanobot.supervision import Looks


class _Events(Subscription):
    """Every event counts as activity."""

    def __init__(self, kind: EventKind, looks: Looks) -> None:
        super().__init__(None, frozenset({kind}))
        self._looks = looks

    def offer(self, event: RunEvent) -> None:
        if event.kind in self.kinds:
            self._looks.stir()


@contextmanager
def stirred(looks: Looks, bus: Bus, kind: EventKind) -> Iterator[None]:
    """While active, each such event counts as activity."""
    events = _Events(kind, looks)
    bus.watch(events)
    try:
        yield
    finally:
        bus.unsubscribe(events)
