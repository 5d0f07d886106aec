"""Jobs by the clock: when they are due, missed runs, and the port to their store."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Annotated, Literal, Protocol, TypeAlias, get_args

import msgspec
from msgspec import Meta

from nanobot.errors import UsageError
from nanobot.plugins.cron.schedule import Schedule, coming, restored
from nanobot.plugins.cron.wording import in_words
from nanobot.text import WORDS, Sentence
from nanobot.triggers.clocks import zone_of
from nanobot.triggers.jobs import Job, JobStore, Plan, State, Status, Timetable

LATE_SECONDS = 60.0
"""A run that starts this much after its time is late; it counts as missed if the job does not allow
late runs.
"""
MOST_LATE = 100
"""Most runs that `run_all` makes up for after an absence, by the interval between two of them."""
MISSED_SECONDS = 30 * 86_400.0
"""After a longer absence, only this much is considered; runs due earlier are not even recorded."""

What: TypeAlias = Literal["fire", "late", "missed", "skipped"]


class JobView(msgspec.Struct, frozen=True, kw_only=True):
    """A job as shown to people. `rule`: its schedule in words. `times`: the next three, after a
    change. `kind`: prompt (for the model) or message. `reason`: why the gateway paused it.
    `question`: a question to the person who added it.
    """

    id: int
    name: str
    state: Annotated[str, Meta(extra={WORDS: get_args(State)})]
    schedule: str
    zone: str
    next_at: float | None
    kind: str
    text: str
    to: str
    session: str
    by: str
    misfire: str
    overlap: str
    created_at: float
    reason: Sentence
    rule: str
    times: tuple[float, ...] = ()
    question: Sentence = ""


class OccurrenceView(msgspec.Struct, frozen=True, kw_only=True):
    """One occurrence of a job. `status`: running or waiting (for a retry), and finally done,
    failed, skipped (the previous run was still going), missed (no gateway was running) or
    cancelled. `count`: how many consecutive occurrences, from this one on, ended this way.
    """

    job_id: int
    name: str
    scheduled_at: float
    status: Annotated[str, Meta(extra={WORDS: get_args(Status)})]
    fired_at: float
    ended_at: float | None
    attempt: int
    run_id: str | None
    error: Sentence | None
    count: int = 1


class Jobs(JobStore, Timetable, Protocol):
    """The scheduled jobs; each method is one transaction."""

    async def add(self, plan: Plan, next_at: float | None, key: str, most: int) -> Job:
        """Add a job. A call with the same `key` returns the same job. Raises UsageError if the name
        is taken, or if the requester already has `most` jobs.
        """
        ...

    async def find(self, which: str) -> Job:
        """The job with that id or name. Raises UsageError."""
        ...

    async def listed(self, *, state: str, by: str, limit: int, find: str = "") -> list[Job]:
        """Jobs in a state ("": any except removed), requested by `by` ("": anyone), with these
        words in their name or text.
        """
        ...

    async def changed(self, job: Job) -> None:
        """Store the changed job. If it was removed, its running and waiting occurrences end."""
        ...

    async def history(self, *, job_id: int | None, limit: int) -> list[OccurrenceView]:
        """The occurrences of a job (None: of all jobs), latest first."""
        ...

    async def depth(self, run_id: str) -> int:
        """The depth of the job that a run belongs to; 0 if it belongs to none."""
        ...


def when(plan: Plan) -> Schedule:
    """The schedule of a plan. Raises UsageError if it is unreadable."""
    return restored(plan.schedule, plan.zone, plan.anchor)


def due_at(job_id: int, scheduled_at: float, jitter: float) -> float:
    """A time plus its jitter, which is deterministic."""
    if jitter <= 0:
        return scheduled_at
    seed = hashlib.sha256(f"{job_id}:{scheduled_at:.3f}".encode()).digest()
    return scheduled_at + jitter * int.from_bytes(seed[:6], "big") / (1 << 48)


def decide(plan: Plan, due: float, following: float | None, now: float) -> What:
    """The decision on an occurrence that was due at `due`; `following` is the next time. Running
    occurrences are not considered here.
    """
    if now - due < LATE_SECONDS:
        return "fire"
    if plan.once:
        return "late"
    if plan.misfire == "run_all":
        often = following is not None and now - due > MOST_LATE * (following - due) > 0
        return "late" if now - due <= plan.window and not often else "missed"
    last = following is None or following > now
    if plan.misfire == "run_once" and last:
        return "late"
    return "missed"


def worded(plan: Plan, text: str, due: float, now: float) -> str:
    """The text of an occurrence; a late one says so."""
    if now - due < LATE_SECONDS:
        return text
    then = datetime.fromtimestamp(due, zone_of(plan.zone)).strftime("%Y-%m-%d %H:%M")
    return f"[Late: this was due at {then} ({plan.zone}), when nanobot was not running.]\n{text}"


def viewed(job: Job, *, times: bool = False) -> JobView:
    """A job as shown to people, with its next three times if it has any."""
    plan = job.plan
    ahead: tuple[float, ...] = ()
    if times and job.next_at is not None:
        ahead = (job.next_at, *coming(when(plan), job.next_at, 2))
    return JobView(
        id=job.id,
        name=plan.name,
        state=job.state,
        schedule=plan.schedule,
        zone=plan.zone,
        next_at=job.next_at,
        kind="message" if plan.send else "prompt",
        text=plan.text,
        to=str(plan.address),
        session="-" if plan.send else plan.session,
        by=plan.by,
        misfire=plan.misfire,
        overlap=plan.overlap,
        created_at=job.created_at,
        reason=job.reason,
        rule=_rule(plan),
        times=ahead,
    )


def _rule(plan: Plan) -> str:
    """The schedule in words, in the language of the job's text; the stored form if it is
    unreadable.
    """
    try:
        return in_words(when(plan), plan.zone, plan.text)
    except (UsageError, ValueError):
        return plan.schedule


def following(plan: Plan, after: float) -> float | None:
    """The next time of a plan before it expires."""
    at = when(plan).next(after)
    over = at is None or (plan.expires_at is not None and at > plan.expires_at)
    return None if over else at


def skipped_to(plan: Plan, at: float, now: float) -> float | None:
    """The first time to run after an absence: `at`, or the first time within MISSED_SECONDS; None
    if the plan expired before.
    """
    if plan.once or now - at <= MISSED_SECONDS:
        return at
    return following(plan, now - MISSED_SECONDS)
