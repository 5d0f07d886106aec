"""The background runs of one process: their types, what starts them, and what ends late ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nanobot.bus.core import Bus
from nanobot.plugins.common.runs.background_runs import TaskRecords
from nanobot.plugins.common.runs.run_types import AnyRunType
from nanobot.plugins.tasks.builtin import agent_type
from nanobot.plugins.tasks.deadlines import DeadlineMonitor
from nanobot.plugins.tasks.registry import RunTypeRegistry
from nanobot.plugins.tasks.starting import StoredTaskStarter
from nanobot.ports import Clock
from nanobot.session.records import Records
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
        gather: Callable[[], Sequence[AnyRunType]],
    ) -> None:
        self.records = records
        self.types = RunTypeRegistry(gather, tools, clock)
        self.starter = StoredTaskStarter(self.types, records, bus)
        self.deadlines = DeadlineMonitor(records, views, bus, clock)


def with_subagents(
    records: TaskRecords,
    views: Records,
    bus: Bus,
    clock: Clock,
    tools: ToolRegistry,
    types: Sequence[AnyRunType],
) -> BackgroundRuns:
    """Those of a process that knows these types and subagents."""
    return BackgroundRuns(records, views, bus, clock, tools, lambda: (*types, agent_type()))
