"""The background of an AgentLoop: what its tools start is done while the program only asks."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from nanobot.agent.worker import Worker
from nanobot.boundary import boundary
from nanobot.session.states import RunKind
from nanobot.triggers.cron.service import CronService


class Background:
    """Drives background runs, their reports and the jobs that are due, but no lane of a person:
    those are driven by the caller who asks, or by the loop's own `run`."""

    def __init__(self, worker: Worker, cron: CronService | None, *, private: bool) -> None:
        self._worker = worker
        self._cron = cron
        self._private = private
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Work from now on, as long as this event loop runs or until `end`."""
        if self._task is None or self._task.done():
            loop = asyncio.get_running_loop()
            self._task = loop.create_task(self._serve(), name="agent: background")

    async def end(self) -> None:
        """Stop. What runs now is given back, to be resumed by who serves next."""
        task, self._task = self._task, None
        if task is not None and not task.done():
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _serve(self) -> None:
        with boundary("background of an agent loop"):
            if self._private:  # a store of others has lanes that are not this loop's to drive
                await self._worker.recover()
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._worker.run((RunKind.TASK,)), name="agent: background runs")
                if self._cron is not None:
                    tasks.create_task(self._cron.run(), name="agent: jobs")
