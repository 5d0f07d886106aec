"""The SubagentManager: starts subagents for a program."""

from __future__ import annotations

from nanobot.bus.core import Bus
from nanobot.messages import TERMINAL, TERMINAL_SESSION, Address, Role
from nanobot.plugins.common.runs.background_runs import Parent, TaskRecords, TaskRequest
from nanobot.plugins.tasks.builtin import agent_type
from nanobot.plugins.tasks.port import AGENT
from nanobot.plugins.tasks.registry import RunTypeRegistry
from nanobot.plugins.tasks.starting import StoredTaskStarter
from nanobot.ports import Ids
from nanobot.system import RandomIds, SystemClock
from nanobot.tools.registry import ToolRegistry


class SubagentManager:
    """Starts subagents over a bus and its stored background runs (`MessageBus.tasks`). They work
    where the bus is served, and report to the session that started them."""

    def __init__(self, bus: Bus, records: TaskRecords, ids: Ids | None = None) -> None:
        self.bus = bus
        types = RunTypeRegistry(lambda: [agent_type()], ToolRegistry(), SystemClock())
        self.starter = StoredTaskStarter(types, records, bus)
        self._ids = ids or RandomIds()

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
        parent = Parent(
            session_key=session_key,
            run_id="",
            address=Address(channel, chat_id),
            sender_id="local",
            role=Role.OWNER,
        )
        title = label.strip() or " ".join(task.split())[:60]
        key = f"library:{self._ids.run_id()}"
        request = TaskRequest(type=AGENT, title=title, input={"task": task}, key=key, parent=parent)
        return await self.starter.start(request)
