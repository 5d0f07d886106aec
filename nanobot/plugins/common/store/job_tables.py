"""The tables of scheduled jobs."""

from __future__ import annotations

from typing import get_args

import msgspec
import sqlalchemy as sa

from nanobot.plugins.common.jobs.plans import Plan, State, Status
from nanobot.store.database.tables import Id, metadata, next_id, partial, words

JOB_ACTIVE = sa.text("jobs.state = 'active'")
JOB_NOTICE = sa.text("jobs.notice_due")
OCCURRENCE_OPEN = sa.text("occurrences.status IN ('running', 'waiting')")
OCCURRENCE_WAITING = sa.text("occurrences.status = 'waiting'")

# Scheduled jobs; the body is a Plan. `next_due` is `next_at` with its jitter. The chat is the one
# that the job speaks in. `reason` is why the gateway paused the job, and `notice_due` means that
# its owner has not been told yet.
jobs = sa.Table(
    "jobs",
    metadata,
    next_id("jobs"),
    sa.Column("name", sa.Text, nullable=False, index=True),
    sa.Column("state", sa.Text, nullable=False, info=words(*get_args(State))),
    sa.Column("owner", sa.Text, nullable=False, index=True),
    sa.Column("channel", sa.Text, nullable=False),
    sa.Column("chat_id", sa.Text, nullable=False),
    sa.Column("reason", sa.Text),
    sa.Column("notice_due", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("call_key", sa.Text, unique=True),
    sa.Column("next_at", sa.Double),
    sa.Column("next_due", sa.Double),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("changed_at", sa.Double, nullable=False),
    # Operations that act on a job with an unreadable plan refuse it.
    sa.Column(
        "body",
        sa.LargeBinary,
        nullable=False,
        info={"decode": msgspec.json.Decoder(Plan).decode, "listed": True},
    ),
    sa.Index("jobs_of_chat", "channel", "chat_id"),
)
partial("jobs_due", JOB_ACTIVE, jobs.c.next_due)
partial("jobs_notice", JOB_NOTICE, jobs.c.id)

# Every time at which a job was due, with its outcome.
occurrences = sa.Table(
    "occurrences",
    metadata,
    sa.Column("job_id", Id, primary_key=True, autoincrement=False),
    sa.Column("scheduled_at", sa.Double, primary_key=True),
    sa.Column("status", sa.Text, nullable=False, info=words(*get_args(Status))),
    sa.Column("session_key", sa.Text, nullable=False, server_default=""),
    sa.Column("inbound_id", Id),
    sa.Column("attempt", sa.Integer, nullable=False, server_default="1"),
    sa.Column("retry_at", sa.Double),
    sa.Column("call_key", sa.Text, unique=True),
    sa.Column("error", sa.Text),
    sa.Column("fired_at", sa.Double, nullable=False, index=True),
    sa.Column("ended_at", sa.Double, index=True),
    sa.Column(
        "body",
        sa.LargeBinary,
        nullable=False,
        info={"decode": msgspec.json.Decoder(str).decode},
    ),
    sqlite_with_rowid=False,
    info={"in_use": OCCURRENCE_OPEN},
)
partial("occurrences_open", OCCURRENCE_OPEN, occurrences.c.job_id, occurrences.c.scheduled_at)
partial("occurrences_running", OCCURRENCE_OPEN, occurrences.c.session_key)
partial("occurrences_waiting", OCCURRENCE_WAITING, occurrences.c.retry_at)
