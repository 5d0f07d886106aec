"""Runs for programs, as a gateway offers them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nanobot.agent.worker import Worker
from nanobot.bus.core import Bus
from nanobot.plugins.common.runs.programs import Programs
from nanobot.plugins.common.runs.run_service import RunService, runs_for_programs
from nanobot.ports import Clock, Ids
from nanobot.tools.registry import ToolRegistry
from nanobot.workspace.received import Received


def worker_objects(
    bus: Bus, worker: Worker, tools: ToolRegistry, received: Received, clock: Clock, ids: Ids
) -> Mapping[Any, Any]:
    """For the control socket, `/v1` and `/mcp`, also while this plugin is off."""
    runs = runs_for_programs(bus, worker, tools, received, clock, ids)
    return {RunService: runs, Programs: runs}
