"""The origin of an answer: the root run of everything it started, and the job behind it."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.agent.budgets import RootRun
from nanobot.messages import Origin
from nanobot.session.entries import UserEntry
from nanobot.session.keys import JOBS
from nanobot.session.runs import Run
from nanobot.store.database import schema
from nanobot.store.database.prepared import Prepared
from nanobot.store.database.results import as_struct
from nanobot.store.journal import log
from nanobot.text import pattern

_r = schema.runs
_e = schema.entries
_i = schema.inbound
_j = schema.jobs

_BY_CLOCK = (Origin.CRON, Origin.HEARTBEAT)
_JOB = pattern(r"\d{1,18}")
_ACCOUNT = pattern(rf"(?:{'|'.join(_BY_CLOCK)}):(\d{{1,18}})")


def _first_run() -> sa.Select[*tuple[object, ...]]:
    # Reports lead to further runs, so a chain may be long; it cannot become a cycle.
    far: sa.ColumnElement[int] = sa.literal_column("0").label("far")
    up = sa.select(_r.c.id, _r.c.parent, far).where(_r.c.id == sa.bindparam("i"))
    all_of = up.cte("up", recursive=True)
    one_more: sa.ColumnElement[int] = (all_of.c.far + sa.literal_column("1")).label("far")
    all_of = all_of.union_all(
        sa.select(_r.c.id, _r.c.parent, one_more).where(_r.c.id == all_of.c.parent)
    )
    columns = (_r.c.id, _r.c.parent, _r.c.origin, _r.c.channel, _r.c.chat_id, _r.c.sender_id)
    query = sa.select(*columns, _r.c.session_key, _r.c.first_seq)
    query = query.join(all_of, all_of.c.id == _r.c.id)
    return query.order_by(all_of.c.far.desc()).limit(sa.literal_column("1"))


_FIRST = Prepared(_first_run())
_PAYLOAD = Prepared(
    sa.select(_e.c.payload).where(
        _e.c.session_key == sa.bindparam("k"), _e.c.seq == sa.bindparam("n")
    )
)
_KEY = Prepared(sa.select(_i.c.dedupe_key).where(_i.c.id == sa.bindparam("i")))
_NAME = Prepared(sa.select(_j.c.name).where(_j.c.id == sa.bindparam("i")))


def beginning(connection: sa.Connection, run: Run) -> RootRun:
    """The root of a run. If the root was deleted, only its id is known."""
    if run.origin not in (Origin.RUN, *_BY_CLOCK):  # only tasks and reports have a parent
        return _itself(run)
    row = _FIRST.execute(connection, i=run.id).first()
    if row is None:
        return _itself(run)
    origin = Origin(row.origin)
    job = _job(connection, row.session_key, row.first_seq) if origin in _BY_CLOCK else ""
    called = _name(connection, job) if job else ""
    return as_struct(row, RootRun, run_id=row.parent or row.id, job=job, job_name=called)


def _itself(run: Run) -> RootRun:
    return RootRun(
        run_id=run.id,
        origin=run.origin,
        channel=run.address.channel,
        chat_id=run.address.chat_id,
        sender_id=run.sender_id,
    )


def job_name(connection: sa.Connection, account: str) -> str:
    """The display name of an account's job; empty if the account belongs to no job."""
    match = _ACCOUNT.fullmatch(account)
    return "" if match is None else _name(connection, match[1])


def _job(connection: sa.Connection, session_key: str, first_seq: int) -> str:
    """The job whose message started a run; empty if that message was erased."""
    payload = _PAYLOAD.scalar(connection, k=session_key, n=first_seq)
    body = log.body_of(session_key, first_seq, payload)
    if not isinstance(body, UserEntry):
        return ""
    job = JOBS.id_of(_KEY.scalar(connection, i=body.inbound_id) or "")
    return job if _JOB.fullmatch(job) else ""


def _name(connection: sa.Connection, job: str) -> str:
    return _NAME.scalar(connection, i=int(job)) or ""
