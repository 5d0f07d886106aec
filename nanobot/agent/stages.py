"""The stages before a run acts, in order."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nanobot.agent.active_run import ActiveRun


class Stages:
    """Runs before acting, see Runner. A stage that sets `answer` is the last one."""

    def __init__(self, *stages: Callable[[ActiveRun], Awaitable[None]]) -> None:
        self._stages = stages

    async def __call__(self, active: ActiveRun) -> None:
        """Run the stages until there is an answer. Raises StoreError."""
        for stage in self._stages:
            if active.answer is not None:
                return
            await stage(active)
