"""What a plugin keeps doing while the gateway serves."""

from __future__ import annotations

import asyncio

from nanobot.supervision import Clock, Work, supervised


class Works:
    """The works of one plugin, which end with the gateway."""

    def __init__(self, tasks: asyncio.TaskGroup, clock: Clock) -> None:
        self._tasks = tasks
        self._clock = clock

    def add(self, name: str, work: Work) -> None:
        """Do `work` from now on. One that fails is named, and started again after a pause."""
        self._tasks.create_task(supervised(name, work, self._clock), name=name)
