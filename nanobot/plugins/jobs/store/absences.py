"""Skipped times of a job: consecutive ones share one row.

A job that runs every 10 seconds is due 26,000 times while a machine sleeps for three days. Its
history then has one row, for the first of them, which records how many there were and when the last
one was.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime

import msgspec
import sqlalchemy as sa

from nanobot.plugins.common.jobs.plans import Job
from nanobot.plugins.common.store import job_tables
from nanobot.plugins.common.times.zones import zone_of
from nanobot.plugins.jobs.store import occurrences
from nanobot.plugins.jobs.store.effects import Effects
from nanobot.plugins.jobs.store.occurrences import NewOccurrence
from nanobot.store.database.prepared import Prepared

_o = job_tables.occurrences

_BEFORE = Prepared(
    sa.select(_o.c.scheduled_at, _o.c.status, _o.c.error, _o.c.body)
    .where(_o.c.job_id == sa.bindparam("i"), _o.c.scheduled_at < sa.bindparam("at"))
    .order_by(_o.c.scheduled_at.desc())
    .limit(1)
)
_LONGER = Prepared(
    sa.update(_o)
    .where(_o.c.job_id == sa.bindparam("i"), _o.c.scheduled_at == sa.bindparam("at"))
    .values(error=sa.bindparam("e"), body=sa.bindparam("b"), ended_at=sa.bindparam("now"))
)


class _Counted(msgspec.Struct, tag="absence"):
    """The details of a row for several times, in addition to its sentence."""

    count: int
    why: str


class Absence:
    """Collects the skipped times of one job until `close`."""

    def __init__(self, effects: Effects, job: Job) -> None:
        self._effects = effects
        self._job = job
        self._status = self._why = ""
        self._first = self._last = 0.0
        self._count = 0

    def add(self, at: float, status: str, why: str) -> None:
        """Count a time; a row is written when a time with another outcome comes."""
        if self._count and (status, why) != (self._status, self._why):
            self.close()
        if not self._count:
            self._status, self._why, self._first = status, why, at
        self._last = at
        self._count += 1

    def close(self) -> None:
        """Write the row, or extend the previous one with the same outcome: a long absence takes
        several transactions.
        """
        if not self._count:
            return
        effects, identity = self._effects, self._job.id
        row = _BEFORE.execute(effects.unit, i=identity, at=self._first).first()
        earlier = None if row is None or row.status != self._status else _counted(row.body)
        if row is not None and earlier is not None and earlier.why == self._why:
            count = earlier.count + self._count
            kept = msgspec.json.encode(self._kept(count))
            _LONGER.execute(
                effects.unit,
                i=identity,
                at=row.scheduled_at,
                e=self._sentence(count),
                b=kept,
                now=effects.now,
            )
        else:
            new = NewOccurrence(
                job_id=identity,
                scheduled_at=self._first,
                status=self._status,
                text=self._kept(self._count),
                error=self._sentence(self._count),
            )
            occurrences.insert(effects.unit, new, effects.now)
        self._count = 0

    def _kept(self, count: int) -> str:
        return msgspec.json.encode(_Counted(count, self._why)).decode()

    def _sentence(self, count: int) -> str:
        if count == 1:
            return self._why
        zone = self._job.plan.zone
        last = datetime.fromtimestamp(self._last, zone_of(zone)).strftime("%Y-%m-%d %H:%M:%S")
        return f"{self._why}; {count:,} times, the last on {last} ({zone})"


def count_of(body: bytes) -> int:
    """The number of times that a row covers, from its details."""
    counted = _counted(body)
    return 1 if counted is None else max(counted.count, 1)


def _counted(body: bytes) -> _Counted | None:
    """The details of a row of skipped times; None for another kind of row, or one from an earlier
    version.
    """
    with suppress(msgspec.MsgspecError, UnicodeDecodeError, TypeError):
        return msgspec.json.decode(msgspec.json.decode(body, type=str), type=_Counted)
    return None
