"""Events of runs make periodic tasks check the store more often."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from nanobot.bus.core import Bus, Handler
from nanobot.messages import EventKind
from nanobot.supervision import Looks


@contextmanager
def stirred(looks: Looks, bus: Bus, kind: EventKind) -> Iterator[None]:
    """While active, each such event counts as activity."""
    events = Handler(frozenset({kind}), lambda _event: looks.stir())
    bus.watch(events)
    try:
        yield
    finally:
        bus.unsubscribe(events)
