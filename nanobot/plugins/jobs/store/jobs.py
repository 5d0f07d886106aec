"""The port to jobs, over SQL. Other modules contain the execution."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.messages import Address
from nanobot.plugins.common.jobs.plans import Fired, Job, Plan
from nanobot.plugins.common.jobs.service import Following
from nanobot.plugins.common.store import job_tables
from nanobot.plugins.jobs.rules import KEPT_SECONDS
from nanobot.plugins.jobs.store import doing, firing, keeping, settling
from nanobot.plugins.jobs.store.rows import job_values, shown_job
from nanobot.store.database.dialect import alone
from nanobot.store.unit import Unit
from nanobot.store.verbs import SqlStore, transaction, verb

_j = job_tables.jobs
_o = job_tables.occurrences

_AT_ONCE = 200


def _system(unit: Unit, plan: Plan) -> Job:
    alone(unit, "cron")
    query = sa.select(_j).where(_j.c.name == plan.name, _j.c.state == "system")
    existing = unit.execute(query).first()
    values = job_values(plan, unit.now)
    if existing is None:
        values |= {"state": "system", "created_at": unit.now}
        identity = unit.scalar(sa.insert(_j).returning(_j.c.id), values) or 0
    else:
        identity = existing.id
        if existing.body != values["body"]:
            unit.execute(sa.update(_j).where(_j.c.id == identity).values(**values))
    return shown_job(unit.execute(sa.select(_j).where(_j.c.id == identity)).one())


def _release(unit: Unit, after: Address | None) -> tuple[Fired, Address | None]:
    alone(unit, "cron")
    owes, position = unit.writer.notifications.release(unit, after)
    return Fired(owes=tuple(owes)), position


def _prune(unit: Unit, after: int) -> int | None:
    alone(unit, "cron")
    old = unit.now - KEPT_SECONDS
    ended = sa.select(_o.c.job_id, _o.c.scheduled_at).where(_o.c.ended_at < old).limit(_AT_ONCE)
    key = sa.tuple_(_o.c.job_id, _o.c.scheduled_at)
    forgotten = unit.execute(sa.delete(_o).where(key.in_(ended))).rowcount
    if forgotten == _AT_ONCE:
        return after
    last, then = keeping.next_of(unit, after)
    gone = sa.select(_j.c.id).where(_j.c.id > after, _j.c.id <= last)
    gone = gone.where(_j.c.state.in_(("done", "removed")), _j.c.changed_at < old)
    gone = gone.where(~sa.exists().where(_o.c.job_id == _j.c.id)).limit(_AT_ONCE)
    removed = unit.execute(sa.delete(_j).where(_j.c.id.in_(gone))).rowcount
    return after if removed == _AT_ONCE else then


class SqlJobs(SqlStore):
    """See jobs.rules.JobStore: the same code for SQLite and PostgreSQL."""

    following: Following | None = None

    system = verb(_system, "cron_system")
    add = verb(keeping.add, "cron_add")
    find = verb(keeping.job_named)
    _some_listed = verb(keeping.listed)
    changed = verb(keeping.changed, "cron_change")
    history = verb(keeping.history)
    depth = verb(keeping.depth)
    settle = verb(settling.settle, "cron_settle")
    sweep = verb(settling.sweep, "cron_sweep")
    release = verb(_release, "cron_release")
    trigger = verb(doing.trigger, "cron_trigger")
    prune = verb(_prune, "cron_prune")

    @transaction("cron_fire")
    def fire(self, unit: Unit) -> Fired:
        return firing.fire(unit, self.following)

    @transaction("cron_realign")
    def realign(self, unit: Unit, after: int) -> int | None:
        if self.following is None:
            return None
        return keeping.realign(unit, self.following, after)

    async def listed(self, *, state: str, by: str, limit: int, find: str = "") -> list[Job]:
        found: list[Job] = []
        # Due jobs come from their index; one sort of all jobs would read every one of them.
        for each in (state,) if state else ("active", "others"):
            skip: int | None = 0
            while skip is not None and len(found) < limit:
                wanted = limit - len(found)
                some, skip = await self._some_listed(
                    state=each, by=by, limit=wanted, find=find, skip=skip
                )
                found += some
        return found
