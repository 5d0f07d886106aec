"""The ports to what does background runs, which the plugin `tasks` provides to programs and tests;
a gateway has it as RunTypes and TaskStarter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from nanobot.bus.core import Bus
from nanobot.messages import TERMINAL, TERMINAL_SESSION
from nanobot.plugins.common.runs.background_runs import TaskStarter
from nanobot.plugins.common.runs.run_types import AnyRunType
from nanobot.ports import Clock
from nanobot.seam.installed import Interface
from nanobot.session.run_types import RunTypes
from nanobot.tools.base import AnyTool
from nanobot.tools.registry import ToolRegistry


class Subagents(Protocol):
    """Starts subagents over a bus."""

    @property
    def bus(self) -> Bus:
        """The bus where they work."""

    @property
    def starter(self) -> TaskStarter:
        """Starts them for the tool `spawn`."""

    async def spawn(
        self,
        task: str,
        label: str = "",
        session_key: str = TERMINAL_SESSION,
        channel: str = TERMINAL,
        chat_id: str = "direct",
    ) -> str:
        """Start a subagent as an owner. The run is stored when this returns. Returns the run's id.
        Raises ToolError if there are too many, or the task is empty."""


class BackgroundWork(Protocol):
    """The background runs of one process."""

    @property
    def types(self) -> RunTypes:
        """Performs them."""

    @property
    def starter(self) -> TaskStarter:
        """Starts them."""


BACKGROUND_RUNS: Interface[Callable[..., BackgroundWork]] = Interface("background_runs")
"""Makes the background runs of a process, of such a store, with subagents and some types."""
RUN_TYPE_REGISTRY: Interface[
    Callable[[Callable[[], Sequence[AnyRunType]], ToolRegistry, Clock], RunTypes]
] = Interface("run_type_registry")
"""Makes what performs runs of the types that a function gives."""
SUBAGENTS: Interface[Callable[..., Subagents]] = Interface("subagents")
"""Makes what starts subagents, of a bus and such a store."""
SPAWNING: Interface[Callable[[TaskStarter], AnyTool]] = Interface("spawning")
"""Makes the tool that starts subagents."""
