"""The tables of scheduled jobs and other triggers."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.store.database.tables import Id, metadata, next_id, partial

JOB_ACTIVE = sa.text("jobs.state = 'active'")
JOB_NOTICE = sa.text("jobs.notice_due")
OCCURRENCE_OPEN = sa.text("occurrences.status IN ('running', 'waiting')")
OCCURRENCE_WAITING = sa.text("occurrences.status = 'waiting'")

# Unrequested messages, with recipient and time, as far back as limits look.
notifications = sa.Table(
    "notifications",
    metadata,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("channel", sa.Text, nullable=False),
    sa.Column("chat_id", sa.Text, nullable=False),
    sa.Column("person", sa.Text, nullable=False),
    sa.Column("at", sa.Double, nullable=False, index=True),
    sa.Index("notifications_of_chat", "channel", "chat_id", "at"),
    sa.Index("notifications_of_person", "person", "at"),
    sqlite_with_rowid=False,
)

# Scheduled jobs; the body is a Plan. `next_due` is `next_at` with its jitter. The chat is the one
# that the job speaks in. `reason` is why the gateway paused the job, and `notice_due` means that
# its owner has not been told yet.
jobs = sa.Table(
    "jobs",
    metadata,
    next_id("jobs"),
    sa.Column("name", sa.Text, nullable=False, index=True),
    sa.Column("state", sa.Text, nullable=False),
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
    sa.Column("body", sa.LargeBinary, nullable=False),
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
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("session_key", sa.Text, nullable=False, server_default=""),
    sa.Column("inbound_id", Id),
    sa.Column("attempt", sa.Integer, nullable=False, server_default="1"),
    sa.Column("retry_at", sa.Double),
    sa.Column("call_key", sa.Text, unique=True),
    sa.Column("error", sa.Text),
    sa.Column("fired_at", sa.Double, nullable=False, index=True),
    sa.Column("ended_at", sa.Double, index=True),
    sa.Column("body", sa.LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)
partial("occurrences_open", OCCURRENCE_OPEN, occurrences.c.job_id, occurrences.c.scheduled_at)
partial("occurrences_running", OCCURRENCE_OPEN, occurrences.c.session_key)
partial("occurrences_waiting", OCCURRENCE_WAITING, occurrences.c.retry_at)

# State that triggers keep across restarts: one text each, in a format of the trigger's choice.
trigger_state = sa.Table(
    "trigger_state",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("body", sa.LargeBinary, nullable=False),
    sa.Column("changed_at", sa.Double, nullable=False),
)
