"""Watchers of events that act at once."""

from __future__ import annotations

from collections.abc import Callable

from nanobot.bus.core import Subscription
from nanobot.messages import EventKind, RunEvent


class Handler(Subscription):
    """Hands each event to a function at once, which costs less than waking a task for it. The
    function is quick, emits nothing and raises nothing."""

    def __init__(self, kinds: frozenset[EventKind], handle: Callable[[RunEvent], None]) -> None:
        super().__init__(None, kinds)
        self._handle = handle

    def offer(self, event: RunEvent) -> None:
        if event.kind in self.kinds:
            self._handle(event)
