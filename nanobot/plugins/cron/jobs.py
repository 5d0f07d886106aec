"""Jobs by the clock: when they are due, and how people see them."""

from __future__ import annotations

from typing import Annotated, ClassVar, get_args

import msgspec
from msgspec import Meta

from nanobot.errors import UsageError
from nanobot.plugins.common.jobs.plans import Job, Plan, State
from nanobot.plugins.cron.schedule import Schedule, coming, restored
from nanobot.plugins.cron.wording import in_words
from nanobot.text import WORDS, Sentence


class JobView(msgspec.Struct, frozen=True, kw_only=True):
    """A job as shown to people."""

    SHOWN: ClassVar[tuple[str, ...]] = (
        *("id", "state", "next_at", "schedule"),
        *("name", "text", "to", "zone"),
    )

    id: int
    name: str
    state: Annotated[str, Meta(extra={WORDS: get_args(State)})]
    schedule: str
    zone: str
    next_at: float | None
    kind: str
    """A prompt (for the model) or a message."""
    text: str
    to: str
    session: str
    by: str
    misfire: str
    overlap: str
    created_at: float
    reason: Sentence
    """Why the gateway paused it."""
    rule: str
    """Its schedule in words."""
    times: tuple[float, ...] = ()
    """The next three, after a change."""
    question: Sentence = ""
    """A question to the person who added it."""


def when(plan: Plan) -> Schedule:
    """The schedule of a plan. Raises UsageError if it is unreadable."""
    return restored(plan.schedule, plan.zone, plan.anchor)


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
