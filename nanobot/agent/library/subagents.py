"""The promised import path of SubagentManager, which the plugin `tasks` provides; the file with the
ending .pyi says the same to type checkers."""

from __future__ import annotations

from collections.abc import Callable

from nanobot.agent.tasks.service import SUBAGENTS, Subagents
from nanobot.seam.installed import provided


def __getattr__(name: str) -> Callable[..., Subagents]:
    if name != "SubagentManager":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    manager = provided(SUBAGENTS)
    if manager is None:
        raise ImportError(
            "SubagentManager belongs to the plugin tasks, which is not there: `nanobot plugins "
            "list` says why"
        )
    return manager
