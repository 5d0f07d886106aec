"""What a plugin keeps doing while the gateway serves, and how it follows its settings."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from nanobot.retries import Clock
from nanobot.supervision import Work, supervised


class Works:
    """The background tasks of one plugin, which end with the gateway."""

    def __init__(self, tasks: asyncio.TaskGroup, clock: Clock) -> None:
        self._tasks = tasks
        self._clock = clock

    def add(self, name: str, work: Work) -> None:
        """Start `work`. If it fails, the failure is reported by name, and it restarts after a
        pause."""
        self._tasks.create_task(supervised(name, work, self._clock), name=name)


class Follow:
    """The functions of one plugin that take over changes of its keys that apply at once."""

    def __init__(self) -> None:
        self.takes: list[Callable[[Any], object]] = []
        self.others: list[tuple[tuple[str, ...], Callable[[Any], object]]] = []

    def add(self, take: Callable[[Any], object]) -> None:
        """Have `take` called with the plugin's settings whenever such a key has changed."""
        self.takes.append(take)

    def others_too(self, *keys: str, take: Callable[[Any], object]) -> None:
        """Have `take` called with the whole configuration whenever one of these keys has changed,
        which are not the plugin's own."""
        self.others.append((keys, take))
