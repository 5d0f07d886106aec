"""Rows of jobs: stored, listed, changed, and moved when the clock was."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from nanobot.errors import UnknownId, UsageError
from nanobot.plugins.common.jobs.plans import Job, OccurrenceView, Plan
from nanobot.plugins.common.jobs.service import Following
from nanobot.plugins.common.store import job_tables
from nanobot.plugins.common.store.slices import Slice
from nanobot.plugins.jobs.due import due_at
from nanobot.plugins.jobs.store import notices, pausing
from nanobot.plugins.jobs.store.absences import count_of
from nanobot.plugins.jobs.store.effects import Effects
from nanobot.plugins.jobs.store.rows import as_job, job_values, plan_of, shown_job
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.database.dialect import alone
from nanobot.store.database.results import as_struct
from nanobot.store.journal import chats
from nanobot.store.unit import Unit

_j = job_tables.jobs
_o = job_tables.occurrences
_i = schema.inbound

_AT_ONCE = 200
_LOOKED_AT = 1_000
"""Jobs of which one transaction looks at times only."""
_FAR = 7 * 86_400.0
"""Times that are further ahead are computed again: the rules of a time zone may have changed, too.
"""


def listed(
    connection: Connection, *, state: str, by: str, limit: int, find: str, skip: int
) -> tuple[list[Job], int | None]:
    """The next jobs of a state that contain the words, after the first `skip`, and how many to skip
    next, None at the end. "others": jobs that are neither active nor removed.
    """
    which = job_tables.JOB_ACTIVE if state == "active" else _j.c.state == state
    if state == "others":
        which = _j.c.state.not_in(("active", "removed"))
    query = sa.select(_j).where(which).order_by(_j.c.next_due, _j.c.id).limit(_AT_ONCE)
    if by:
        query = query.where(_j.c.owner == by)
    rows = connection.execute(query.offset(skip)).all()
    jobs = (shown_job(row) for row in rows if _may_mention(row, find))
    found = list(itertools.islice((job for job in jobs if _mentions(job, find)), limit))
    return found, skip + len(rows) if len(rows) == _AT_ONCE else None


def _may_mention(row: Any, words: str) -> bool:
    """Whether the words occur anywhere in a row: decoding every job takes longer."""
    return not words or words.casefold() in f"{row.name} {row.body.decode()}".casefold()


def _mentions(job: Job, words: str) -> bool:
    text = f"{job.plan.name}\n{job.plan.text}"
    return not words or words.casefold() in text.casefold()


def _values(now: float, job_id: int, plan: Plan, next_at: float | None) -> dict[str, Any]:
    due = None if next_at is None else due_at(job_id, next_at, plan.jitter)
    return job_values(plan, now) | {"next_at": next_at, "next_due": due}


def add(
    unit: Unit,
    plan: Plan,
    next_at: float | None,
    key: str,
    most: int,
) -> Job:
    """See `Jobs.add`."""
    # Two at once would each find the name free and room for one more.
    alone(unit, "cron")
    if key:
        existing = unit.execute(sa.select(_j).where(_j.c.call_key == key)).first()
        if existing is not None:
            return shown_job(existing)
    _name_is_free(unit, plan.name, 0)
    mine = sa.select(sa.func.count()).where(
        _j.c.owner == plan.by, _j.c.state.in_(("active", "paused"))
    )
    if (unit.scalar(mine) or 0) >= most:
        raise UsageError(f"there are {most} jobs for {plan.by} already: remove one first.")
    values = _values(unit.now, 0, plan, next_at) | {
        "state": "active",
        "call_key": key or None,
        "created_at": unit.now,
    }
    identity = unit.scalar(sa.insert(_j).returning(_j.c.id), values) or 0
    due = _values(unit.now, identity, plan, next_at)["next_due"]
    unit.execute(sa.update(_j).where(_j.c.id == identity).values(next_due=due))
    return job_named(unit, str(identity))


def _name_is_free(connection: Connection, name: str, but: int) -> None:
    same = sa.select(_j.c.id).where(
        _j.c.name == name, _j.c.state.in_(("active", "paused", "system")), _j.c.id != but
    )
    if connection.execute(same).first() is not None:
        raise UsageError(f"there is a job called {name!r} already: choose another name.")


def job_named(connection: Connection, which: str) -> Job:
    """See `Jobs.find`."""
    named = which.strip().removeprefix("#")
    by_id = named.isascii() and named.isdigit() and len(named) < 16
    rows: Sequence[Any] = []
    if by_id:
        rows = connection.execute(sa.select(_j).where(_j.c.id == int(named))).all()
    if not rows:
        query = sa.select(_j).where(_j.c.name == which.strip())
        rows = connection.execute(query.order_by(_j.c.state == "removed", _j.c.id.desc())).all()
    if not rows or (rows[0].state == "removed" and not by_id):
        raise UnknownId(f"there is no job {which[:60]!r}; `cron list` shows which there are.")
    return shown_job(rows[0])


def changed(unit: Unit, job: Job) -> None:
    """See `Jobs.changed`."""
    alone(unit, "cron")
    if job.state in {"active", "paused"}:
        _name_is_free(unit, job.plan.name, job.id)
    values = _values(unit.now, job.id, job.plan, job.next_at)
    values |= {"state": job.state, "reason": job.reason or None}
    if not job.readable:
        del values["body"]
    was = unit.scalar(sa.select(_j.c.state).where(_j.c.id == job.id))
    if (was, job.state) == ("paused", "active"):
        # Resuming a job asserts that its chat can be reached; if not, the job is paused again.
        chats.reached(unit, job.plan.address)
    unit.execute(sa.update(_j).where(_j.c.id == job.id).values(**values))
    if job.state == "removed":
        Effects(unit).drop_waiting(job, "removed")


def history(connection: Connection, *, job_id: int | None, limit: int) -> list[OccurrenceView]:
    """See `Jobs.history`."""
    query = (
        sa.select(_o, _j.c.name, _i.c.run_id)
        .join(_j, _j.c.id == _o.c.job_id)
        .join(_i, _i.c.id == _o.c.inbound_id, isouter=True)
        .limit(limit)
    )
    if job_id is None:
        query = query.order_by(_o.c.fired_at.desc())
    else:
        query = query.where(_o.c.job_id == job_id).order_by(_o.c.scheduled_at.desc())
    rows = connection.execute(query)
    return [as_struct(row, OccurrenceView, count=count_of(row.body)) for row in rows]


def next_of(connection: Connection, after: int) -> tuple[int, int | None]:
    """The last of the next jobs after that id, in any state, and the id to continue from; None at
    the end."""
    some = sa.select(_j.c.id).where(_j.c.id > after).order_by(_j.c.id).limit(_LOOKED_AT).subquery()
    last, count = connection.execute(sa.select(sa.func.max(some.c.id), sa.func.count())).one()
    return last or after, last if count == _LOOKED_AT else None


def realign(unit: Unit, following: Following, after: int) -> int | None:
    """See `JobStore.realign`. The clock was ahead when a job's time was computed if it was computed
    later than now. Computing each anew would take a store of years a second of each start."""
    alone(unit, "cron")
    last, then = next_of(unit, after)
    effects, slice_ = Effects(unit), Slice(unit.writer.clock)
    now = effects.now
    doubtful = sa.or_(_j.c.changed_at > now, _j.c.next_due > now + _FAR)
    query = sa.select(_j).where(job_tables.JOB_ACTIVE, _j.c.id > after, _j.c.id <= last, doubtful)
    rows = unit.execute(query.order_by(_j.c.id).limit(_AT_ONCE)).all()
    for row in rows:
        if not slice_.step():
            return after
        after = row.id
        with effects.contained(f"job {row.id}") as (own, caught):
            _bring_forward(own, row, following)
        if caught.error is not None:
            notices.pause(effects, row, pausing.reason_of(caught.error), "failed")
    return after if len(rows) == _AT_ONCE else then


def _bring_forward(effects: Effects, row: Any, following: Following) -> None:
    job = as_job(row)
    if job.next_at is None or job.plan.once:
        return
    earlier = following(job.plan, effects.now)
    if earlier is not None and earlier < job.next_at:
        due = due_at(job.id, earlier, job.plan.jitter)
        change = sa.update(_j).where(_j.c.id == job.id)
        effects.unit.execute(change.values(next_at=earlier, next_due=due))


def depth(connection: Connection, run_id: str) -> int:
    """See `Jobs.depth`."""
    query = (
        sa.select(_j.c.body)
        .join(_o, _o.c.job_id == _j.c.id)
        .join(_i, _i.c.id == _o.c.inbound_id)
        .where(
            _i.c.run_id == run_id,
            _o.c.session_key == _i.c.session_key,
            job_tables.OCCURRENCE_OPEN,
        )
    )
    body = connection.scalar(query)
    return 0 if body is None else plan_of(body).depth
