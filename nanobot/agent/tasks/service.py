"""The background runs of one gateway: starting, performing and ending them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from nanobot.agent.tasks.deadlines import DeadlineMonitor
from nanobot.agent.tasks.starting import StoredTaskStarter
from nanobot.agent.tasks.types import AnyRunType, RunTypeRegistry
from nanobot.bus.core import Bus
from nanobot.ports import Clock
from nanobot.session.tasks import TaskRecords
from nanobot.session.views import Records
from nanobot.supervision import supervised
from nanobot.tools.registry import ToolRegistry


class BackgroundRuns:
    """`types` is for the driver, `starter` for everyone who starts runs."""

    def __init__(
        self,
        records: TaskRecords,
        views: Records,
        bus: Bus,
        clock: Clock,
        tools: ToolRegistry,
        types: Sequence[AnyRunType],
    ) -> None:
        self._clock = clock
        self.types = RunTypeRegistry(types, tools, clock)
        self.starter = StoredTaskStarter(self.types, records, bus)
        self._deadlines = DeadlineMonitor(records, views, bus, clock)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as tasks:
            name = "background runs: deadlines"
            keeping = tasks.create_task(
                supervised(name, self._deadlines.run, self._clock), name=name
            )
            try:
                yield
            finally:
                keeping.cancel()
