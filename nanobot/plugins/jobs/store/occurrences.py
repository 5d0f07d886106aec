"""Rows of occurrences: every due time of a job, and its outcome."""

from __future__ import annotations

from typing import Any

import msgspec
import sqlalchemy as sa

from nanobot.plugins.common.store import job_tables
from nanobot.plugins.jobs.rules import RETRIES, OpenTime
from nanobot.session.states import RunState
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.database.dialect import insert_ignore
from nanobot.store.database.prepared import Prepared
from nanobot.store.database.results import as_struct

_o = job_tables.occurrences
_i = schema.inbound
_r = schema.runs

_ENDED = {
    RunState.COMPLETED: "done",
    RunState.FAILED: "failed",
    RunState.ABORTED: "cancelled",
}

_OPEN = (
    sa.select(
        _o.c.job_id,
        _o.c.scheduled_at,
        _o.c.status,
        _o.c.session_key,
        _o.c.inbound_id,
        _o.c.attempt,
        _o.c.body,
        _i.c.state.label("inbound_state"),
        _i.c.run_id,
        _r.c.state.label("run_state"),
        _r.c.error.label("run_error"),
    )
    .join(_i, _i.c.id == _o.c.inbound_id, isouter=True)
    .join(_r, _r.c.id == _i.c.run_id, isouter=True)
    .where(job_tables.OCCURRENCE_OPEN)
)
_ORDER = (_o.c.job_id, _o.c.scheduled_at)
# As a range: for an equal id SQLite uses the primary key, and reads every due time ever stored.
_OF_JOB = Prepared(
    _OPEN.where(_o.c.job_id.between(sa.bindparam("i"), sa.bindparam("i"))).order_by(*_ORDER)
)
_ENDED_IN = Prepared(
    _OPEN.where(
        _o.c.session_key == sa.bindparam("k"),
        _o.c.status == "running",
        sa.or_(
            sa.text("runs.state IN ('completed', 'failed', 'aborted')"),
            sa.and_(_r.c.id.is_(None), sa.or_(_i.c.id.is_(None), _i.c.state == "settled")),
        ),
    )
    .order_by(*_ORDER)
    .limit(sa.bindparam("n"))
)
_AFTER = Prepared(
    _OPEN.where(sa.tuple_(*_ORDER) > sa.tuple_(sa.bindparam("i"), sa.bindparam("at")))
    .order_by(*_ORDER)
    .limit(sa.bindparam("n"))
)
_TO_RETRY = Prepared(
    _OPEN.where(
        job_tables.OCCURRENCE_WAITING,
        sa.or_(
            _o.c.retry_at <= sa.bindparam("now"),
            # Later than any retry could be: the clock was set back.
            _o.c.retry_at > sa.bindparam("now") + 2 * RETRIES.longest,
        ),
    )
    .order_by(_o.c.retry_at)
    .limit(sa.bindparam("n"))
)
_NEXT_RETRY = Prepared(sa.select(sa.func.min(_o.c.retry_at)).where(job_tables.OCCURRENCE_WAITING))
_BEGUN = Prepared(
    sa.update(_o)
    .where(_o.c.job_id == sa.bindparam("i"), _o.c.scheduled_at == sa.bindparam("at"))
    .values(
        status="running",
        retry_at=None,
        attempt=sa.bindparam("n"),
        inbound_id=sa.bindparam("m"),
        session_key=sa.bindparam("k"),
    )
)
_OF_CALL = Prepared(sa.select(_o.c.job_id).where(_o.c.call_key == sa.bindparam("k")))


class Occurrence(msgspec.Struct, frozen=True, kw_only=True):
    """An unfinished occurrence of a job, with its message and its run."""

    job_id: int
    scheduled_at: float
    session_key: str
    inbound_id: int | None
    status: str = "running"
    attempt: int = 1
    body: bytes = b'""'
    inbound_state: str | None = "pending"
    run_id: str | None = None
    run_state: str | None = None
    run_error: str | None = None

    @property
    def end(self) -> str | None:
        """How it ended; None while it is unfinished or waits for a retry."""
        if self.status == "waiting":
            return None
        if self.run_state is not None:
            return _ENDED.get(RunState(self.run_state))
        # Dropped before it became a run.
        return "cancelled" if self.inbound_state in (None, "settled") else None

    @property
    def position(self) -> OpenTime:
        """Its place among the unfinished ones."""
        return OpenTime(self.job_id, self.scheduled_at)


class NewOccurrence(msgspec.Struct, frozen=True, kw_only=True):
    """A new row. `call_key` names the tool call that requested it."""

    job_id: int
    scheduled_at: float
    status: str
    text: str = ""
    error: str | None = None
    call_key: str = ""


def open_of(connection: Connection, job_id: int) -> list[Occurrence]:
    """The unfinished occurrences of a job, in order."""
    return _read(connection, _OF_JOB, i=job_id)


def ended_in(connection: Connection, session_key: str, most: int) -> list[Occurrence]:
    """The occurrences that ended in a session and are not settled yet."""
    return _read(connection, _ENDED_IN, k=session_key, n=most)


def open_after(connection: Connection, after: OpenTime, most: int) -> list[Occurrence]:
    """The unfinished occurrences of all jobs, in order."""
    return _read(connection, _AFTER, i=after.job_id, at=after.scheduled_at, n=most)


def to_retry(connection: Connection, now: float, most: int) -> list[Occurrence]:
    """The occurrences that are due for a retry."""
    return _read(connection, _TO_RETRY, now=now, n=most)


def next_retry(connection: Connection) -> float | None:
    """The time of the next retry."""
    at: float | None = _NEXT_RETRY.scalar(connection)
    return at


def of_call(connection: Connection, call_key: str) -> bool:
    """Whether that call has been performed."""
    return _OF_CALL.execute(connection, k=call_key).first() is not None


def insert(connection: Connection, new: NewOccurrence, now: float) -> bool:
    """Write a row; returns False if that time already has one."""
    values = {
        "job_id": new.job_id,
        "scheduled_at": new.scheduled_at,
        "status": new.status,
        "call_key": new.call_key or None,
        "error": new.error,
        "fired_at": now,
        "ended_at": None if new.status == "running" else now,
        "body": msgspec.json.encode(new.text),
    }
    return insert_ignore(connection, _o, values, _o.c.job_id) is not None


def begun(connection: Connection, occurrence: Occurrence) -> None:
    """It became a message, for the first time or for a retry."""
    _BEGUN.execute(
        connection,
        i=occurrence.job_id,
        at=occurrence.scheduled_at,
        n=occurrence.attempt,
        m=occurrence.inbound_id,
        k=occurrence.session_key,
    )


def update(connection: Connection, occurrence: Occurrence, **values: Any) -> None:
    """Change columns of its row."""
    row = sa.and_(_o.c.job_id == occurrence.job_id, _o.c.scheduled_at == occurrence.scheduled_at)
    connection.execute(sa.update(_o).where(row).values(**values))


def _read(connection: Connection, query: Prepared, **values: Any) -> list[Occurrence]:
    return [as_struct(row, Occurrence) for row in query.execute(connection, values)]
