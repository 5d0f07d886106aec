"""The background runs of a gateway, as the plugin brings them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from nanobot.bus.core import Bus
from nanobot.errors import PluginBroken
from nanobot.plugins.common.files.confinement import ConfinedFiles
from nanobot.plugins.common.runs.background_runs import TaskRecords, TaskStarter
from nanobot.plugins.common.runs.run_types import AnyRunType, RunType, installed, trouble
from nanobot.plugins.tasks.background import BackgroundRuns
from nanobot.plugins.tasks.builtin import builtin_types
from nanobot.plugins.tasks.spawn import spawn_tool
from nanobot.plugins.tasks.store.tasks import SqlTasks
from nanobot.ports import Clock
from nanobot.seam.entry_points import Plugins
from nanobot.seam.given import listed
from nanobot.seam.installed import FoundPlugin
from nanobot.seam.offers import Contributions
from nanobot.seam.works import Works
from nanobot.session.journal import Journal
from nanobot.session.records import Records
from nanobot.session.run_types import RunTypes
from nanobot.store.opening import Store
from nanobot.system import Zone
from nanobot.tools.base import AnyTool
from nanobot.tools.registry import ToolRegistry


def objects(  # noqa: PLR0913 - each is a part of the gateway
    store: Store,
    records: Records,
    bus: Bus,
    clock: Clock,
    zone: Zone,
    tools: ToolRegistry,
    files: ConfinedFiles,
    contributions: Contributions,
) -> Mapping[Any, Any]:
    """What performs background runs, and what starts them."""
    stored = SqlTasks(store.database, store.writer, zone)
    gather = partial(all_types, bus.journal, files, contributions)
    background = BackgroundRuns(stored, records, bus, clock, tools, gather)
    return {
        BackgroundRuns: background,
        RunTypes: background.types,
        TaskStarter: background.starter,
        TaskRecords: stored,
    }


def tools(background: BackgroundRuns) -> list[AnyTool]:
    """The tool for subagents. Types of others are gathered now, when everything that they may ask
    for is offered."""
    background.types.gather()
    return [spawn_tool(background.starter)]


@asynccontextmanager
async def start(background: BackgroundRuns, works: Works) -> AsyncIterator[None]:
    """End runs at their deadlines."""
    works.add("background runs: deadlines", background.deadlines.run)
    yield


def all_types(
    journal: Journal, files: ConfinedFiles, contributions: Contributions
) -> Sequence[AnyRunType]:
    """The types of background runs: built-in, from packages, and from plugins."""
    types = builtin_types(journal, files)
    types += installed(Plugins(), [kind.name for kind in types])
    names = {kind.name for kind in types}

    def use(_: FoundPlugin, given: Any) -> None:
        new = listed(given, RunType)
        for kind in new:
            if wrong := trouble(kind):
                raise PluginBroken(f"the run type {str(kind.name)[:64]!r} cannot be used: {wrong}")
            if kind.name in names:
                raise PluginBroken(f"the name {kind.name} is taken")
            names.add(kind.name)
        types.extend(new)

    contributions.each("run_types", use)
    return types
