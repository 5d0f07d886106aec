"""Does jobs: every occurrence gets exactly one row, in the transaction that creates its message or
run.
"""

from __future__ import annotations

import msgspec

from nanobot.errors import UsageError
from nanobot.plugins.common.jobs.plans import Fired, Job
from nanobot.plugins.common.jobs.triggers import Taken
from nanobot.plugins.common.store.slices import Slice
from nanobot.plugins.jobs.rules import admits, repeats
from nanobot.plugins.jobs.store import occurrences, pausing
from nanobot.plugins.jobs.store.effects import Effects
from nanobot.plugins.jobs.store.occurrences import NewOccurrence, Occurrence
from nanobot.plugins.jobs.store.rows import job_of
from nanobot.store.database.connection import Connection
from nanobot.store.database.dialect import alone
from nanobot.store.journal import chats
from nanobot.store.unit import Unit

_AT_ONCE = 50
NOT_DONE = "the one before was not done"


def repeat(effects: Effects, slice_: Slice) -> float | None:
    """Repeat the failed occurrences that are due for it; returns when the next one is."""
    for occurrence in occurrences.to_retry(effects.unit, effects.now, _AT_ONCE):
        if not slice_.step():
            break
        with effects.contained(f"job {occurrence.job_id}") as (own, caught):
            _retry(own, occurrence)
        if caught.error is not None:
            pausing.give_up(effects, occurrence, caught.error)
    return occurrences.next_retry(effects.unit)


def _retry(effects: Effects, occurrence: Occurrence) -> None:
    job = job_of(effects.unit, occurrence.job_id)
    text = msgspec.json.decode(occurrence.body, type=str)
    effects.begin(job, occurrence.scheduled_at, text, occurrence.attempt + 1)


def do(  # noqa: PLR0913 - what a job is fired with
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
    unended = [] if plan.send else unended_of(effects.unit, job)
    verdict = "skip" if refusal else "send" if plan.send else admits(plan, len(unended))
    status = {"send": "done", "skip": "skipped"}.get(verdict, "running")
    new = NewOccurrence(
        job_id=job.id,
        scheduled_at=at,
        status=status,
        text=text,
        error=(refusal or NOT_DONE) if verdict == "skip" else None,
        call_key=key,
    )
    if not occurrences.insert(effects.unit, new, effects.now):
        return False
    if verdict == "send":
        effects.post(job, at, text, plan.spoken)
    if verdict == "replace":
        for occurrence in unended:
            effects.call_off(job, occurrence, "replaced by the next")
    if verdict in {"run", "replace"}:
        effects.begin(job, at, text, kept=kept)
    return True


def unended_of(connection: Connection, job: Job) -> list[Occurrence]:
    """The occurrences of a job that are active or will be retried. One that has ended may not be
    settled yet.
    """
    rows = occurrences.open_of(connection, job.id)
    return [row for row in rows if row.end is None or repeats(job, row.end, row.attempt)]


def trigger(
    unit: Unit,
    job_id: int,
    *,
    at: float | None,
    key: str,
    text: str,
    kept: str = "",
) -> tuple[Taken, Fired]:
    """See `Jobs.trigger`: the row of the occurrence and its message, in one transaction."""
    alone(unit, "cron")
    effects = Effects(unit)
    if key and occurrences.of_call(unit, key):
        return "known", effects.fired()
    job = job_of(unit, job_id)
    if job.state == "removed":
        raise UsageError(f"the job {job.plan.name} was removed.")
    text = text or job.plan.text
    unreachable = None
    if job.state == "system" and job.plan.post:
        unreachable = chats.unreachable(unit, job.plan.address)
    refusal = f"{job.plan.address} cannot be reached ({unreachable})" if unreachable else ""
    if at is not None:
        taken: Taken = "taken" if do(effects, job, at, text, key, refusal, kept) else "known"
        return taken, effects.fired()
    if job.plan.overlap == "queue" and len(unended_of(unit, job)) >= job.plan.waiting:
        return "full", effects.fired()
    at = round(effects.now, 3)
    while not do(effects, job, at, text, key, refusal, kept):
        # Rounded for every due time: otherwise two times less than a millisecond apart would share
        # a message's key.
        at = round(at + 0.001, 3)
    return "taken", effects.fired()
