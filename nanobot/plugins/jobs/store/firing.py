"""Fires jobs: every due time gets exactly one row, in the transaction that creates its message or
run.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from nanobot.messages import Address
from nanobot.plugins.common.jobs.plans import Fired, Job
from nanobot.plugins.common.jobs.service import Following
from nanobot.plugins.common.store import job_tables
from nanobot.plugins.common.store.slices import Slice
from nanobot.plugins.jobs.due import (
    LATE_SECONDS,
    decide,
    due_at,
    skipped_to,
    worded,
)
from nanobot.plugins.jobs.rules import admits
from nanobot.plugins.jobs.store import notices, pausing
from nanobot.plugins.jobs.store.absences import Absence
from nanobot.plugins.jobs.store.doing import NOT_DONE, do, repeat, unended_of
from nanobot.plugins.jobs.store.effects import Effects
from nanobot.plugins.jobs.store.rows import as_job
from nanobot.store.database.dialect import alone
from nanobot.store.database.prepared import Prepared
from nanobot.store.journal import chats
from nanobot.store.unit import Unit

_j = job_tables.jobs

_AT_ONCE = 50

_DUE = Prepared(
    sa.select(_j)
    .where(job_tables.JOB_ACTIVE, _j.c.next_due <= sa.bindparam("now"))
    .order_by(_j.c.next_due)
    .limit(_AT_ONCE)
)
_NEXT_DUE = Prepared(sa.select(sa.func.min(_j.c.next_due)).where(job_tables.JOB_ACTIVE))
_MOVE = Prepared(
    sa.update(_j)
    .where(_j.c.id == sa.bindparam("i"))
    .values(
        next_at=sa.bindparam("at"),
        next_due=sa.bindparam("due"),
        state=sa.bindparam("s"),
        changed_at=sa.bindparam("now"),
    )
)


def fire(unit: Unit, following: Following | None) -> Fired:
    """Repeat failed occurrences, fire the jobs that are due by the clock, and tell the owners of
    jobs that were paused. Without `following`, no job is due by the clock.
    """
    alone(unit, "cron")
    effects, slice_ = Effects(unit), Slice(unit.writer.clock)
    next_retry = repeat(effects, slice_)
    if following is None:
        more = next_retry is not None and next_retry <= effects.now
        return effects.fired(next_due=next_retry, more=more)
    for row in _DUE.execute(unit, now=effects.now).all():
        if not slice_.step():
            break
        unreachable = chats.unreachable(unit, Address(row.channel, row.chat_id))
        if unreachable is not None:
            notices.pause(effects, row, _refused(row, unreachable), "skipped")
            continue
        with effects.contained(f"job {row.id}") as (own, caught):
            _do_due(own, row, following, slice_)
        if caught.error is not None:
            notices.pause(effects, row, pausing.reason_of(caught.error), "failed")
    times = (_NEXT_DUE.scalar(unit), next_retry)
    next_due = min((time for time in times if time is not None), default=None)
    more = next_due is not None and next_due <= effects.now
    # Owners get one notice for all jobs that were paused together.
    return effects.fired(next_due=next_due, more=more or notices.tell(effects))


def _refused(row: Any, reason: str) -> str:
    return f"{row.channel}:{row.chat_id} cannot be reached ({reason})"


def _do_due(effects: Effects, row: Any, following: Following, slice_: Slice) -> None:
    """Handle the due times of a job, each with its row, within the limits of the transaction."""
    job = as_job(row)
    plan = job.plan
    at: float | None = skipped_to(following, plan, row.next_at, effects.now)
    absence = Absence(effects, job)
    while at is not None and due_at(job.id, at, plan.jitter) <= effects.now:
        after = following(plan, at)
        _do_time(effects, job, at, after, absence)
        at = after
        if not slice_.step():
            break
    absence.close()
    due = None if at is None else due_at(job.id, at, plan.jitter)
    state = "active" if at is not None else "done"
    _MOVE.execute(effects.unit, i=job.id, at=at, due=due, s=state, now=effects.now)


def _do_time(effects: Effects, job: Job, at: float, after: float | None, absence: Absence) -> None:
    plan, due = job.plan, due_at(job.id, at, job.plan.jitter)
    following_due = None if after is None else due_at(job.id, after, plan.jitter)
    if decide(plan, due, following_due, effects.now) == "missed":
        absence.add(at, "missed", "nanobot was not running")
        return
    if effects.now - due >= LATE_SECONDS and _waits_for_another(effects, job):
        absence.add(at, "skipped", NOT_DONE)
        return
    absence.close()
    do(effects, job, at, worded(plan, plan.text, due, effects.now))


def _waits_for_another(effects: Effects, job: Job) -> bool:
    """Whether a running occurrence of a job blocks further ones."""
    unended = 0 if job.plan.send else len(unended_of(effects.unit, job))
    return admits(job.plan, unended) == "skip"
