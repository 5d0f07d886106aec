"""What a trigger publishes becomes an occurrence of a job of the gateway's own."""

from __future__ import annotations

from collections.abc import Callable

from nanobot.errors import UsageError
from nanobot.triggers.cron.jobs import Fired, JobStore, Plan, Taken


class JobPublisher:
    """The triggers.base.Publisher of one plan. Every call is a row of the job's history, and has
    one end."""

    def __init__(self, jobs: JobStore, plan: Plan, announce: Callable[[Fired], None]) -> None:
        self._jobs = jobs
        self._plan = plan
        self._announce = announce
        self._job: int | None = None

    async def publish(self, text: str, *, key: str = "") -> Taken:
        try:
            taken, fired = await self._trigger(text, key)
        except UsageError:
            # What is kept of the job was damaged; what the configuration says is kept anew.
            self._job = None
            taken, fired = await self._trigger(text, key)
        if taken == "taken":
            self._announce(fired)
        return taken

    async def _trigger(self, text: str, key: str) -> tuple[Taken, Fired]:
        if self._job is None:
            self._job = (await self._jobs.system(self._plan)).id
        name = f"{self._plan.name}:{key}" if key else ""
        return await self._jobs.trigger(self._job, at=None, key=name, text=text)
