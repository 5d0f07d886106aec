"""Records each published prompt as an occurrence of one of the gateway's own jobs."""

from __future__ import annotations

from collections.abc import Callable

from nanobot.errors import UsageError
from nanobot.plugins.common.jobs.plans import Fired, Plan
from nanobot.plugins.common.jobs.triggers import Taken
from nanobot.plugins.common.propagation import received
from nanobot.plugins.jobs.rules import JobStore


class JobPublisher:
    """The triggers.base.Publisher for one plan. Every call is a row of the job's history and gets
    one final status.
    """

    def __init__(self, jobs: JobStore, plan: Plan, announce: Callable[[Fired], None]) -> None:
        self._jobs = jobs
        self._plan = plan
        self._announce = announce
        self._job: int | None = None

    async def publish(self, text: str, *, key: str = "") -> Taken:
        try:
            taken, fired = await self._trigger(text, key)
        except UsageError:
            # The stored job was damaged; it is stored again from the configuration.
            self._job = None
            taken, fired = await self._trigger(text, key)
        if taken == "taken":
            self._announce(fired)
        return taken

    async def _trigger(self, text: str, key: str) -> tuple[Taken, Fired]:
        if self._job is None:
            self._job = (await self._jobs.system(self._plan)).id
        name = f"{self._plan.name}:{key}" if key else ""
        return await self._jobs.trigger(self._job, at=None, key=name, text=text, kept=received())
