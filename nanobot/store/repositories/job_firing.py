"""Fires jobs: every due time gets exactly one row, in the transaction that creates its message or
run.
"""

from __future__ import annotations

from typing import Any

import msgspec
import sqlalchemy as sa

from nanobot.errors import UsageError
from nanobot.messages import Address
from nanobot.store.database import schema
from nanobot.store.database.dialect import alone
from nanobot.store.database.prepared import Prepared
from nanobot.store.journal import chats
from nanobot.store.repositories import job_pausing, occurrences
from nanobot.store.repositories.job_absences import Absence
from nanobot.store.repositories.job_effects import Effects, Slice
from nanobot.store.repositories.job_rows import as_job, job_of
from nanobot.store.repositories.occurrences import NewOccurrence, Occurrence
from nanobot.store.unit import StoreContext
from nanobot.triggers.cron.jobs import (
    LATE_SECONDS,
    Fired,
    Job,
    Taken,
    admits,
    decide,
    due_at,
    following,
    repeats,
    skipped_to,
    worded,
)

_j = schema.jobs

_AT_ONCE = 50
_NOT_DONE = "the one before was not done"

_DUE = Prepared(
    sa.select(_j)
    .where(schema.JOB_ACTIVE, _j.c.next_due <= sa.bindparam("now"))
    .order_by(_j.c.next_due)
    .limit(_AT_ONCE)
)
_NEXT_DUE = Prepared(sa.select(sa.func.min(_j.c.next_due)).where(schema.JOB_ACTIVE))
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


def fire(connection: sa.Connection, writer: StoreContext) -> Fired:
    alone(connection, "cron")
    effects, slice_ = Effects(connection, writer), Slice(writer.clock)
    for occurrence in occurrences.to_retry(connection, effects.now, _AT_ONCE):
        if not slice_.step():
            break
        with effects.contained(f"job {occurrence.job_id}") as (own, caught):
            _retry(own, occurrence)
        if caught.error is not None:
            job_pausing.give_up(effects, occurrence, caught.error)
    for row in _DUE.execute(connection, now=effects.now).all():
        if not slice_.step():
            break
        unreachable = chats.unreachable(connection, Address(row.channel, row.chat_id))
        if unreachable is not None:
            job_pausing.pause(effects, row, _refused(row, unreachable), "skipped")
            continue
        with effects.contained(f"job {row.id}") as (own, caught):
            _do_due(own, row, slice_)
        if caught.error is not None:
            job_pausing.pause(effects, row, job_pausing.reason_of(caught.error), "failed")
    times = (_NEXT_DUE.scalar(connection), occurrences.next_retry(connection))
    next_due = min((time for time in times if time is not None), default=None)
    more = next_due is not None and next_due <= effects.now
    # Owners get one notice for all jobs that were paused together.
    return effects.fired(next_due=next_due, more=more or job_pausing.tell(effects))


def _refused(row: Any, reason: str) -> str:
    return f"{row.channel}:{row.chat_id} cannot be reached ({reason})"


def _retry(effects: Effects, occurrence: Occurrence) -> None:
    job = job_of(effects.connection, occurrence.job_id)
    text = msgspec.json.decode(occurrence.body, type=str)
    effects.begin(job, occurrence.scheduled_at, text, occurrence.attempt + 1)


def _do_due(effects: Effects, row: Any, slice_: Slice) -> None:
    """Handle the due times of a job, each with its row, within the limits of the transaction."""
    job = as_job(row)
    plan = job.plan
    at: float | None = skipped_to(plan, row.next_at, effects.now)
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
    _MOVE.execute(effects.connection, i=job.id, at=at, due=due, s=state, now=effects.now)


def _do_time(effects: Effects, job: Job, at: float, after: float | None, absence: Absence) -> None:
    plan, due = job.plan, due_at(job.id, at, job.plan.jitter)
    following_due = None if after is None else due_at(job.id, after, plan.jitter)
    if decide(plan, due, following_due, effects.now) == "missed":
        absence.add(at, "missed", "nanobot was not running")
        return
    if effects.now - due >= LATE_SECONDS and _waits_for_another(effects, job):
        absence.add(at, "skipped", _NOT_DONE)
        return
    absence.close()
    _do(effects, job, at, worded(plan, plan.text, due, effects.now))


def _waits_for_another(effects: Effects, job: Job) -> bool:
    """Whether a running occurrence of a job blocks further ones."""
    unended = 0 if job.plan.send else len(_unended(effects.connection, job))
    return admits(job.plan, unended) == "skip"


def _do(  # noqa: PLR0913 - what a job is fired with
    effects: Effects,
    job: Job,
    at: float,
    text: str,
    key: str = "",
    refusal: str = "",
    kept: str = "",
) -> bool:
    """Fire a job for a time, if its running occurrences allow it and it is not refused. Returns
    False if that time already has a row.
    """
    plan = job.plan
    unended = [] if plan.send else _unended(effects.connection, job)
    verdict = "skip" if refusal else "send" if plan.send else admits(plan, len(unended))
    status = {"send": "done", "skip": "skipped"}.get(verdict, "running")
    new = NewOccurrence(
        job_id=job.id,
        scheduled_at=at,
        status=status,
        text=text,
        error=(refusal or _NOT_DONE) if verdict == "skip" else None,
        call_key=key,
    )
    if not occurrences.insert(effects.connection, new, effects.now):
        return False
    if verdict == "send":
        effects.post(job, at, text, plan.spoken)
    if verdict == "replace":
        for occurrence in unended:
            effects.call_off(job, occurrence, "replaced by the next")
    if verdict in {"run", "replace"}:
        effects.begin(job, at, text, kept=kept)
    return True


def _unended(connection: sa.Connection, job: Job) -> list[Occurrence]:
    """The occurrences of a job that are active or will be retried. One that has ended may not be
    settled yet.
    """
    rows = occurrences.open_of(connection, job.id)
    return [row for row in rows if row.end is None or repeats(job, row.end, row.attempt)]


def trigger(  # noqa: PLR0913 - the parameters of the port
    connection: sa.Connection,
    writer: StoreContext,
    job_id: int,
    *,
    at: float | None,
    key: str,
    text: str,
    kept: str = "",
) -> tuple[Taken, Fired]:
    alone(connection, "cron")
    effects = Effects(connection, writer)
    if key and occurrences.of_call(connection, key):
        return "known", effects.fired()
    job = job_of(connection, job_id)
    if job.state == "removed":
        raise UsageError(f"the job {job.plan.name} was removed.")
    text = text or job.plan.text
    unreachable = None
    if job.state == "system" and job.plan.post:
        unreachable = chats.unreachable(connection, job.plan.address)
    refusal = f"{job.plan.address} cannot be reached ({unreachable})" if unreachable else ""
    if at is not None:
        taken: Taken = "taken" if _do(effects, job, at, text, key, refusal, kept) else "known"
        return taken, effects.fired()
    if job.plan.overlap == "queue" and len(_unended(connection, job)) >= job.plan.waiting:
        return "full", effects.fired()
    at = round(effects.now, 3)
    while not _do(effects, job, at, text, key, refusal, kept):
        # Rounded for every due time: otherwise two times less than a millisecond apart would share
        # a message's key.
        at = round(at + 0.001, 3)
    return "taken", effects.fired()
