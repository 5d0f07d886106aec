"""The bus that an AgentLoop shares with the managers it is given."""

from __future__ import annotations

from nanobot.bus.core import Bus
from nanobot.errors import UsageError
from nanobot.plugins.common.jobs.service import JobService
from nanobot.plugins.common.runs.background_work import Subagents
from nanobot.plugins.library.sessions import SessionManager


def shared_bus(
    bus: Bus | None,
    session_manager: SessionManager | None,
    subagent_manager: Subagents | None,
    cron_service: JobService | None,
) -> Bus | None:
    """The given bus or, without one, the managers'. None: there is none yet. Raises UsageError
    naming a manager on another bus: its runs would never be served, and its sessions would be
    others."""
    managers = {
        "session_manager": session_manager,
        "subagent_manager": subagent_manager,
        "cron_service": cron_service,
    }
    for name, manager in managers.items():
        if manager is None:
            continue
        if bus is None:
            bus = manager.bus
        same_store = manager.bus.journal is bus.journal
        if manager.bus is not bus and not (manager is session_manager and same_store):
            raise UsageError(
                f"{name}: it works over another bus than this loop; make it with the loop's `bus`, "
                "or leave `bus` out and make all managers with the same one"
            )
    return bus
