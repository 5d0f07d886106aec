"""Rows of jobs: code that acts on them reads them strictly, code that displays them reads them
leniently.
"""

from __future__ import annotations

from typing import Any

import msgspec
import sqlalchemy as sa

from nanobot.errors import UnknownId, UsageError
from nanobot.messages import Address, Role
from nanobot.plugins.common.jobs.plans import Job, Plan
from nanobot.plugins.common.store import job_tables
from nanobot.store.database.connection import Connection
from nanobot.store.database.prepared import Prepared

_j = job_tables.jobs

_JOB = Prepared(sa.select(_j).where(_j.c.id == sa.bindparam("i")))


def plan_of(body: bytes) -> Plan:
    """A stored plan. Raises msgspec.MsgspecError."""
    return msgspec.json.decode(body, type=Plan)


def as_job(row: Any) -> Job:
    """A job to act on. Raises UsageError if it is unreadable."""
    try:
        return _job(row, plan_of(row.body))
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UsageError(
            f"the stored job #{row.id} ({row.name}) cannot be read ({error}): remove it, "
            "and add it again."
        ) from error


def shown_job(row: Any) -> Job:
    """The readable parts of a job."""
    try:
        return as_job(row)
    except UsageError:
        plan = Plan(
            name=row.name,
            schedule="",
            zone="UTC",
            anchor=0.0,
            text="",
            address=Address(row.channel, row.chat_id),
            session_key="",
            sender_id="",
            role=Role.GUEST,
            by=row.owner,
        )
        return msgspec.structs.replace(_job(row, plan), readable=False)


def _job(row: Any, plan: Plan) -> Job:
    return Job(
        id=row.id,
        state=row.state,
        next_at=row.next_at,
        created_at=row.created_at,
        reason=row.reason or "",
        plan=plan,
    )


def job_values(plan: Plan, now: float) -> dict[str, Any]:
    """The columns of a job with this plan."""
    return {
        "name": plan.name,
        "owner": plan.by,
        "channel": plan.address.channel,
        "chat_id": plan.address.chat_id,
        "changed_at": now,
        "body": msgspec.json.encode(plan),
    }


def job_of(connection: Connection, job_id: int) -> Job:
    """The job of that id, to act on. Raises UsageError."""
    row = _JOB.execute(connection, i=job_id).first()
    if row is None:
        raise UnknownId(f"there is no job #{job_id}.")
    return as_job(row)
