"""Background work of an AgentLoop: what its tools start runs even while `run` is not active."""

from __future__ import annotations

import asyncio

from nanobot.agent.worker import Worker
from nanobot.boundary import boundary
from nanobot.plugins.common.jobs.service import JobService
from nanobot.session.states import RunKind


class Background:
    """Drives background runs, their reports and due jobs, but not people's lanes: the caller who
    asks, or the loop's `run`, drives those."""

    def __init__(self, worker: Worker, cron: JobService | None, *, private: bool) -> None:
        self._worker = worker
        self._cron = cron
        self._private = private
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Work until `end`, or until this event loop ends."""
        if self._task is None or self._task.done():
            loop = asyncio.get_running_loop()
            self._task = loop.create_task(self._serve(), name="agent: background")

    async def end(self) -> None:
        """Stop. Active runs are released; the next process that serves resumes them."""
        task, self._task = self._task, None
        if task is not None and not task.done():
            task.cancel()
            await asyncio.wait({task})

    async def _serve(self) -> None:
        with boundary("background of an agent loop"):
            if self._private:  # a shared store has lanes that this loop must not drive
                await self._worker.recover()
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._worker.run((RunKind.TASK,)), name="agent: background runs")
                if self._cron is not None:
                    tasks.create_task(self._cron.run(), name="agent: jobs")
