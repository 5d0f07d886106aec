"""Rules of occurrences: what runs, what is retried, where; and the port to their store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias, runtime_checkable

import msgspec

from nanobot.messages import Address
from nanobot.plugins.common.jobs.job_keys import JOBS
from nanobot.plugins.common.jobs.plans import Fired, Job, Plan
from nanobot.plugins.common.jobs.service import Jobs
from nanobot.retries import Backoff

KEPT_SECONDS = 90 * 86_400.0
"""How long the history of a job is kept."""
RETRIES = Backoff(first=60.0, longest=3_600.0)
"""Delays in seconds after which a failed run is retried."""

Admission: TypeAlias = Literal["run", "skip", "replace"]


class OpenTime(msgspec.Struct, frozen=True):
    """An unfinished occurrence, the position at which a sweep continues."""

    job_id: int
    scheduled_at: float


@runtime_checkable
class JobStore(Jobs, Protocol):
    """The stored jobs, as they are done; each method is one transaction."""

    async def system(self, plan: Plan) -> Job:
        """The gateway's own job of that name, which has this plan from now on. It runs only when
        triggered.
        """

    async def fire(self) -> Fired:
        """Repeat the failed occurrences that are due for it, and fire jobs that are due by the
        clock. Each due time gets a row, its prompt or message, and the job its next time. A job
        that cannot run is paused, and its owner is told.
        """

    async def realign(self, after: int) -> int | None:
        """After a start, or after the clock was set back: move jobs forward that are due earlier
        than recorded: those whose time was computed while the clock was ahead, or is more than a
        week ahead. Handles jobs with ids above `after`; returns the id to continue from, None at
        the end.
        """

    async def settle(self, sessions: Sequence[str]) -> Fired:
        """Record how the runs of jobs in these sessions ended."""

    async def sweep(self, after: OpenTime | None) -> tuple[Fired, OpenTime | None]:
        """Go through the unfinished occurrences, starting at `after`: settle the finished ones and
        wake the waiting ones. Returns the position to continue from; None at the end.
        """

    async def release(self, after: Address | None) -> tuple[Fired, Address | None]:
        """Send held-back notifications that may be sent now, starting at `after`. Returns the chat
        to continue from; None at the end.
        """

    async def prune(self, after: int) -> int | None:
        """Delete occurrences older than KEPT_SECONDS, and jobs with ids above `after` that ended
        before and have none; returns the id to continue from, None at the end.
        """


def admits(plan: Plan, unended: int) -> Admission:
    """The decision on an occurrence while this many earlier ones are unfinished."""
    if unended and (plan.overlap == "skip" or unended >= plan.waiting):
        return "skip"
    return "replace" if unended and plan.overlap == "replace" else "run"


def repeats(job: Job, end: str, attempt: int) -> bool:
    """Whether a run that ended this way is retried."""
    return end == "failed" and attempt <= job.plan.retries and job.state != "removed"


def session_of(job: Job) -> str:
    """The session of a job's runs."""
    if job.plan.session == "chat":
        return job.plan.session_key
    return job.plan.name if job.state == "system" else JOBS.of(job.id)
