"""What a trigger publishes becomes a job of the gateway's own, done when it is told to."""

from __future__ import annotations

from collections.abc import Callable

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
        """See triggers.base.Publisher."""
        if self._job is None:
            self._job = (await self._jobs.system(self._plan)).id
        name = self._plan.name
        taken, fired = await self._jobs.trigger(
            self._job, at=None, key=f"{name}:{key}" if key else "", text=text
        )
        if taken == "taken":
            self._announce(fired)
        return taken
