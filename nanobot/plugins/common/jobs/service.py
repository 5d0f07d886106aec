"""The ports to what does jobs, which the plugin `jobs` provides: triggers publish through it, and
scheduled jobs are kept in its store."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeAlias

from nanobot.messages import Origin
from nanobot.plugins.common.jobs.plans import Fired, Job, OccurrenceView, Plan
from nanobot.plugins.common.jobs.triggers import Publisher, Taken
from nanobot.ports import Clock
from nanobot.seam.installed import Interface

if TYPE_CHECKING:
    from nanobot.bus.core import Bus

Following: TypeAlias = Callable[[Plan, float], float | None]
"""The next time of a plan after that one, before it expires; None: there is none."""


class Jobs(Protocol):
    """The stored jobs; each method is one transaction."""

    following: Following | None
    """Computes when jobs are due; without it, none is due by the clock."""

    async def add(self, plan: Plan, next_at: float | None, key: str, most: int) -> Job:
        """Add a job. A call with the same `key` returns the same job. Raises UsageError if the name
        is taken, or if the requester already has `most` jobs.
        """

    async def find(self, which: str) -> Job:
        """The job with that id or name. Raises UsageError."""

    async def listed(self, *, state: str, by: str, limit: int, find: str = "") -> list[Job]:
        """Jobs in a state ("": any except removed), requested by `by` ("": anyone), with these
        words in their name or text.
        """

    async def changed(self, job: Job) -> None:
        """Store the changed job. If it was removed, its running and waiting occurrences end."""

    async def history(self, *, job_id: int | None, limit: int) -> list[OccurrenceView]:
        """The occurrences of a job (None: of all jobs), latest first."""

    async def depth(self, run_id: str) -> int:
        """The depth of the job that a run belongs to; 0 if it belongs to none."""

    async def trigger(
        self, job_id: int, *, at: float | None, key: str, text: str, kept: str = ""
    ) -> tuple[Taken, Fired]:
        """Run a job now. `at` (None: now) is the time of the occurrence, which runs only once;
        `key` identifies the call. `text` replaces the plan's text. `kept`: as in InboundMessage. If
        too much is waiting, the occurrence is not even recorded, unlike one that is skipped because
        of the plan's overlap.
        Raises UsageError for an unreadable job.
        """


class JobService(Protocol):
    """Does jobs while `run` is running."""

    on_announced: Callable[[], None] | None
    """Called when this process changed jobs, because another process may have to do them."""

    @property
    def jobs(self) -> Jobs:
        """Their store."""

    @property
    def bus(self) -> Bus:
        """The bus that it wakes."""

    @property
    def clock(self) -> Clock:
        """The clock by which they are due."""

    def trigger_plan(self, name: str, to: str, origin: Origin, zone: str) -> Plan:
        """The plan for the trigger `name`: runs in the trigger's session that see no earlier runs,
        one after another. Answers go to the chat `to` (CHANNEL:ID; "": they stay in the log)."""

    def publisher(self, plan: Plan) -> Publisher:
        """A publisher for a trigger: each prompt runs by this plan, whose name is the job's."""

    def announce(self, fired: Fired) -> None:
        """Announce changed jobs and the result: wake the sessions and chats with work, and check
        jobs now.
        """

    def look_at_all(self) -> None:
        """Another process changed jobs: check them now, and soon after that what it started."""

    async def run(self) -> None:
        """Do jobs until cancelled. It may be called again, also on another event loop."""


JOB_STORE: Interface[Callable[..., Jobs]] = Interface("job_store")
"""Makes the jobs of a store, of its database and its writer."""
CRON_SERVICE: Interface[Callable[..., JobService]] = Interface("cron_service")
"""Makes a service of such jobs, of a bus and a clock."""
