"""Firing jobs: every due time gets its one row, in the transaction that makes what it is for."""

from __future__ import annotations

from typing import Any

import msgspec
import sqlalchemy as sa

from nanobot.errors import UsageError
from nanobot.messages import Address, InboundMessage, OutboundKind, OutboundMessage, Sender
from nanobot.session.inbox import Admission
from nanobot.session.runs import Ending, Run
from nanobot.session.states import RunState
from nanobot.store.database import schema
from nanobot.store.database.dialect import alone, insert_ignore
from nanobot.store.database.prepared import prepared
from nanobot.store.journal import admission, inbox, log, outbox, runs
from nanobot.store.unit import StoreContext
from nanobot.triggers.cron.jobs import (
    Fired,
    Job,
    Plan,
    Taken,
    decide,
    due_at,
    following,
    silent,
    skipped_to,
    worded,
)

_j = schema.jobs
_o = schema.occurrences
_i = schema.inbound
_r = schema.runs
_out = schema.outbound

_JOBS_AT_ONCE = 50
_TIMES_AT_ONCE = 500
_RETRY_SECONDS, _LONGEST_RETRY = 60.0, 3_600.0
_ENDED = {
    RunState.COMPLETED: "done",
    RunState.FAILED: "failed",
    RunState.ABORTED: "cancelled",
}

_DUE = (
    sa.select(_j)
    .where(schema.JOB_ACTIVE, _j.c.next_due <= sa.bindparam("now"))
    .order_by(_j.c.next_due)
    .limit(sa.bindparam("n"))
)
_NEXT_DUE = sa.select(sa.func.min(_j.c.next_due)).where(schema.JOB_ACTIVE)
_OPEN = (
    sa.select(
        _o,
        _i.c.state.label("inbound_state"),
        _i.c.run_id,
        _r.c.state.label("run_state"),
        _r.c.error.label("run_error"),
    )
    .join(_i, _i.c.id == _o.c.inbound_id, isouter=True)
    .join(_r, _r.c.id == _i.c.run_id, isouter=True)
    .where(schema.OCCURRENCE_OPEN)
    .order_by(_o.c.job_id, _o.c.scheduled_at)
)
_OPEN_OF = _OPEN.where(_o.c.job_id == sa.bindparam("i"))
_JOB = sa.select(_j).where(_j.c.id == sa.bindparam("i"))
_MOVE = (
    sa.update(_j)
    .where(_j.c.id == sa.bindparam("i"))
    .values(
        next_at=sa.bindparam("at"),
        next_due=sa.bindparam("due"),
        state=sa.bindparam("s"),
        changed_at=sa.bindparam("now"),
    )
)
_AWAITED = (
    sa.update(_o)
    .where(_o.c.job_id == sa.bindparam("i"), _o.c.scheduled_at == sa.bindparam("at"))
    .values(inbound_id=sa.bindparam("m"), session_key=sa.bindparam("k"))
)
prepared(_DUE, _NEXT_DUE, _OPEN, _OPEN_OF, _JOB, _MOVE, _AWAITED)


def plan_of(body: bytes) -> Plan:
    """A plan as it is kept."""
    return msgspec.json.decode(body, type=Plan)


def as_job(row: Any) -> Job:
    """A row of the table."""
    return Job(
        id=row.id,
        state=row.state,
        next_at=row.next_at,
        created_at=row.created_at,
        plan=plan_of(row.body),
    )


class _FireTransaction:
    """One call of `fire`: what it has made so far. `open` are the times of each job that are not
    done yet."""

    def __init__(self, connection: sa.Connection, writer: StoreContext) -> None:
        self.connection = connection
        self.writer = writer
        self.now = writer.clock.now()
        self.wakes: list[str] = []
        self.owes: list[Address] = []
        self.stopped: list[Run] = []
        self.open: dict[int, list[Any]] = {}
        self.watched: set[str] = set()
        self.retry_at: float | None = None
        self.times = 0

    def job(self, identity: int) -> Job:
        return as_job(self.connection.execute(_JOB, {"i": identity}).one())

    # What has ended

    def settle(self) -> None:
        """Give each time whose run has ended its status; try again what is to be tried again."""
        for row in self.connection.execute(_OPEN).all():
            if row.status == "waiting":
                self._again(row)
            else:
                self._ended(row)

    def look(self, job: Job) -> None:
        """See what of a job is open, and settle nothing: whoever only triggers has nobody to tell
        of what that would make."""
        rows = self.connection.execute(_OPEN_OF, {"i": job.id}).all()
        again = [one for one in rows if _end(one) == "failed" and one.attempt <= job.plan.retries]
        self.open[job.id] = [
            one for one in rows if one.status == "waiting" or one in again or _end(one) is None
        ]

    def _ended(self, row: Any) -> None:
        status = _end(row)
        if status is None:
            if row.inbound_state == "pending":
                self.wakes.append(row.session_key)
            self._still(row)
            return
        job = self.job(row.job_id)
        if status == "failed" and row.attempt <= job.plan.retries and job.state != "removed":
            left = min(_RETRY_SECONDS * 2 ** (row.attempt - 1), _LONGEST_RETRY)
            self.update(row, status="waiting", retry_at=self.now + left, error=row.run_error)
            self._still(row, self.now + left)
            return
        error = row.run_error if status != "done" else None
        self.update(row, status=status, ended_at=self.now, error=error)
        if job.plan.post and job.plan.terms.direct and status in {"done", "failed"}:
            self._tell(job, row, status)

    def _again(self, row: Any) -> None:
        if self.now < row.retry_at:
            self._still(row, row.retry_at)
            return
        job = self.job(row.job_id)
        self.update(row, status="running", retry_at=None, attempt=row.attempt + 1)
        text = msgspec.json.decode(row.body, type=str)
        self._prompt(job, row.scheduled_at, text, row.attempt + 1)
        self._still(row)

    def _still(self, row: Any, retry_at: float | None = None) -> None:
        self.open.setdefault(row.job_id, []).append(row)
        self.watched.add(row.session_key)
        if retry_at is not None:
            self.retry_at = min(retry_at, self.retry_at or retry_at)

    def update(self, row: Any, **values: Any) -> None:
        where = sa.and_(_o.c.job_id == row.job_id, _o.c.scheduled_at == row.scheduled_at)
        self.connection.execute(sa.update(_o).where(where).values(**values))

    def _tell(self, job: Job, row: Any, status: str) -> None:
        """What a run in a session of its own has said goes into the chat and its history."""
        body = self.connection.scalar(sa.select(_out.c.body).where(_out.c.key == f"{row.run_id}:0"))
        said = None if body is None else msgspec.json.decode(body, type=OutboundMessage)
        text = "" if said is None else said.text
        if silent(text) or (status == "failed" and job.state == "system"):
            return
        tainted = job.plan.tainted or (said is not None and said.tainted)
        self._post(job, row.scheduled_at, text, tainted=tainted)

    def _post(self, job: Job, at: float, text: str, *, tainted: bool) -> None:
        plan = job.plan
        key = f"cron:{job.id}:{at:.3f}"
        message = OutboundMessage(
            address=plan.address,
            text=text,
            kind=OutboundKind.POST,
            key=key,
            tainted=tainted,
            asked=plan.here or plan.once,
        )
        outbox.post(self.connection, self.writer, plan.session_key, message)
        self.owes.append(plan.address)

    # What is due

    def due(self, row: Any) -> None:
        """The times of a job that have come, each with its row."""
        job = as_job(row)
        at: float | None = skipped_to(job.plan, row.next_at, self.now)
        while at is not None and due_at(job.id, at, job.plan.jitter) <= self.now:
            if self.times >= _TIMES_AT_ONCE:
                break
            self.times += 1
            at = self._time(job, at)
        state = "active" if at is not None else "done"
        due = None if at is None else due_at(job.id, at, job.plan.jitter)
        moved = {"i": job.id, "at": at, "due": due, "s": state, "now": self.now}
        self.connection.execute(_MOVE, moved)

    def _time(self, job: Job, at: float) -> float | None:
        """One time; returns the next one."""
        plan, due = job.plan, due_at(job.id, at, job.plan.jitter)
        after = following(plan, at)
        then = None if after is None else due_at(job.id, after, plan.jitter)
        what = decide(plan, due, then, self.now)
        if what == "missed":
            self._row(job, at, "missed", "", "nobody was there to do it")
            return after
        self.do(job, at, worded(plan, plan.text, due, self.now))
        return after

    def do(self, job: Job, at: float, text: str, key: str = "") -> bool:
        """Do a job for a time, as far as what runs of it lets it. False: there is a row already."""
        plan, before = job.plan, self.open.get(job.id, [])
        if plan.send:
            fresh = self._row(job, at, "done", text, key=key)
            if fresh:
                self._post(job, at, text, tainted=plan.tainted)
            return fresh
        if before and (plan.overlap == "skip" or len(before) >= plan.waiting):
            return self._row(job, at, "skipped", text, "the one before was not done", key)
        if not self._row(job, at, "running", text, key=key):
            return False
        if before and plan.overlap == "replace":
            for row in self.open.pop(job.id):
                self.call_off(job, row, "replaced by the next")
        self._prompt(job, at, text, 1)
        return True

    def _row(
        self, job: Job, at: float, status: str, text: str, error: str | None = None, key: str = ""
    ) -> bool:
        values = {
            "job_id": job.id,
            "scheduled_at": at,
            "status": status,
            "call_key": key or None,
            "error": error,
            "fired_at": self.now,
            "ended_at": None if status == "running" else self.now,
            "body": msgspec.json.encode(text),
        }
        made = insert_ignore(self.connection, _o, _o.c.job_id)
        return self.connection.scalar(made, values) is not None

    def _prompt(self, job: Job, at: float, text: str, attempt: int) -> None:
        plan = job.plan
        key = f"cron:{job.id}:{at:.3f}:{attempt}"
        message = InboundMessage(
            address=plan.address,
            message_id="",
            dedupe_key=key,
            sender=Sender(plan.sender_id, plan.name),
            text=text,
            sent_at=self.now,
            origin=plan.origin,
            tainted=plan.tainted,
            terms=plan.terms,
        )
        session = plan.session_key if plan.session == "chat" else session_of(job)
        log.ensure_session(self.connection, self.writer, session, plan.name)
        asked = Admission(message=message, session_key=session, role=plan.role)
        identity = admission.insert(self.connection, self.writer, asked, waits=True, held=0.0)
        awaited = {"i": job.id, "at": at, "m": identity, "k": session}
        self.connection.execute(_AWAITED, awaited)
        self.open.setdefault(job.id, []).append(_Awaited(job.id, at, session, identity))
        self.watched.add(session)
        self.wakes.append(session)

    def call_off(self, job: Job, row: Any, why: str) -> None:
        """End what was begun for a time, whatever it is doing."""
        state, run_id = self.inbound(row.inbound_id)
        if state == "pending":
            inbox.settle_one(self.connection, row.inbound_id)
        if run_id is not None:
            ending = Ending(state=RunState.ABORTED, error=why)
            ended = runs.cancel(self.connection, self.writer, run_id, ending, f"job {job.id}")
            if ended is not None:
                self.stopped.append(ended)
        self.update(row, status="cancelled", ended_at=self.now, retry_at=None, error=why)

    def inbound(self, identity: int | None) -> tuple[str, str | None]:
        query = sa.select(_i.c.state, _i.c.run_id).where(_i.c.id == identity)
        found = self.connection.execute(query).first()
        return ("settled", None) if found is None else (found.state, found.run_id)

    def fired(self, *, more: bool = False) -> Fired:
        """All of it. Sessions of times that are not done are woken again: whoever made them may
        have died before."""
        next_due = self.connection.scalar(_NEXT_DUE)
        times = [time for time in (next_due, self.retry_at) if time is not None]
        return Fired(
            wakes=tuple(dict.fromkeys(self.wakes)),
            owes=tuple(dict.fromkeys(self.owes)),
            stopped=tuple(self.stopped),
            next_due=min(times, default=None),
            more=more,
            watched=frozenset(self.watched),
        )


def _end(row: Any) -> str | None:
    """The status of a time whose run has ended; None as long as it has not."""
    if row.run_state is not None:
        return _ENDED.get(RunState(row.run_state))
    # Dropped before there was a run.
    return "cancelled" if row.inbound_state in (None, "settled") else None


class _Awaited(msgspec.Struct, frozen=True):
    """A time that was begun in this very transaction."""

    job_id: int
    scheduled_at: float
    session_key: str
    inbound_id: int | None


def session_of(job: Job) -> str:
    """The session that the runs of a job have for themselves."""
    return job.plan.name if job.state == "system" else f"cron:{job.id}"


def fire(connection: sa.Connection, writer: StoreContext) -> Fired:
    """See Jobs.fire. What was held back of what is said unasked is due by the clock, too."""
    alone(connection, "cron")
    firing = _FireTransaction(connection, writer)
    firing.settle()
    if writer.quiet is not None:
        firing.owes += writer.quiet.release(connection)
    due = connection.execute(_DUE, {"now": firing.now, "n": _JOBS_AT_ONCE}).all()
    for row in due:
        firing.due(row)
        if firing.times >= _TIMES_AT_ONCE:
            break
    more = len(due) == _JOBS_AT_ONCE or firing.times >= _TIMES_AT_ONCE
    return firing.fired(more=more)


def trigger(
    connection: sa.Connection,
    writer: StoreContext,
    job_id: int,
    at: float | None,
    key: str,
    text: str,
) -> Taken:
    """See Jobs.trigger."""
    alone(connection, "cron")
    firing = _FireTransaction(connection, writer)
    if key:
        known = sa.select(_o.c.job_id).where(_o.c.call_key == key)
        if connection.execute(known).first() is not None:
            return "known"
    job = firing.job(job_id)
    if job.state == "removed":
        raise UsageError(f"the job {job.plan.name} was removed.")
    firing.look(job)
    text = text or job.plan.text
    if at is not None:
        return "taken" if firing.do(job, at, text, key) else "known"
    if job.plan.overlap == "queue" and len(firing.open.get(job.id, [])) >= job.plan.waiting:
        return "full"
    at = round(firing.now, 3)
    while not firing.do(job, at, text, key):
        # Rounded each time: two times less than a millisecond apart would share a message's key.
        at = round(at + 0.001, 3)
    return "taken"


def called_off(connection: sa.Connection, writer: StoreContext, job: Job) -> None:
    """A job is removed: what waits is not done any more; what runs is, but nothing comes of it."""
    firing = _FireTransaction(connection, writer)
    where = sa.and_(_o.c.job_id == job.id, schema.OCCURRENCE_OPEN)
    for row in connection.execute(sa.select(_o).where(where)).all():
        state, run_id = firing.inbound(row.inbound_id)
        if run_id is None or row.status == "waiting":
            if state == "pending":
                inbox.settle_one(connection, row.inbound_id)
            firing.update(row, status="cancelled", ended_at=firing.now, error="removed")
