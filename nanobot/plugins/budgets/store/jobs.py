"""The job that a run without a person is charged to."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.messages import Origin
from nanobot.plugins.common.jobs.job_keys import JOBS
from nanobot.plugins.common.store import job_tables
from nanobot.plugins.common.store.run_roots import RootRun
from nanobot.session.entries import UserEntry
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.database.prepared import Prepared
from nanobot.store.journal import log
from nanobot.text import pattern

_e = schema.entries
_i = schema.inbound
_j = job_tables.jobs

_BY_CLOCK = (Origin.CRON, Origin.HEARTBEAT)
_JOB = pattern(r"\d{1,18}")
_ACCOUNT = pattern(rf"(?:{'|'.join(_BY_CLOCK)}):(\d{{1,18}})")
_PAYLOAD = Prepared(
    sa.select(_e.c.payload).where(
        _e.c.session_key == sa.bindparam("k"), _e.c.seq == sa.bindparam("n")
    )
)
_KEY = Prepared(sa.select(_i.c.dedupe_key).where(_i.c.id == sa.bindparam("i")))
_NAME = Prepared(sa.select(_j.c.name).where(_j.c.id == sa.bindparam("i")))


def job_of(connection: Connection, root: RootRun) -> tuple[str, str]:
    """The id of the job that started a run, and its name for people; empty if none did, or if the
    message that the job sent was erased.
    """
    if root.origin not in _BY_CLOCK or not root.session_key:
        return "", ""
    payload = _PAYLOAD.scalar(connection, k=root.session_key, n=root.first_seq)
    body = log.body_of(root.session_key, root.first_seq, payload)
    if not isinstance(body, UserEntry):
        return "", ""
    job = JOBS.id_of(_KEY.scalar(connection, i=body.inbound_id) or "")
    return (job, _name(connection, job)) if _JOB.fullmatch(job) else ("", "")


def job_name(connection: Connection, account: str) -> str:
    """The display name of an account's job; empty if the account belongs to no job."""
    match = _ACCOUNT.fullmatch(account)
    return "" if match is None else _name(connection, match[1])


def _name(connection: Connection, job: str) -> str:
    return _NAME.scalar(connection, i=int(job)) or ""
