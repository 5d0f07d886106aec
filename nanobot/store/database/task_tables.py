"""Tables of work beside conversations: background runs, and answers to be spoken."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.store.database.tables import metadata

# The assignment of a background run. `key` is the same when the run is requested again.
tasks = sa.Table(
    "tasks",
    metadata,
    sa.Column("run_id", sa.Text, primary_key=True),
    sa.Column("key", sa.Text, nullable=False, unique=True),
    sa.Column("type", sa.Text, nullable=False),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("input", sa.LargeBinary, nullable=False),
    sa.Column("report", sa.Text, nullable=False),
    sa.Column("depth", sa.Integer, nullable=False),
    sa.Column("tainted", sa.Boolean, nullable=False),
    sa.Column("not_before", sa.Double, nullable=False),
    sa.Column("deadline", sa.Double),
    sqlite_with_rowid=False,
)

# Answers that still have to be converted to speech; the text is in the outbox. `not_before`: a
# worker holds the row until then.
voice_answers = sa.Table(
    "voice_answers",
    metadata,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("run_id", sa.Text, nullable=False),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("not_before", sa.Double, nullable=False, server_default="0"),
    sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
    sqlite_with_rowid=False,
)
