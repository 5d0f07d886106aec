"""The table of logs that were moved out of the store."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.store.database.tables import Id, metadata

# How much of a session's log has been moved to an archive.
archived_logs = sa.Table(
    "archived_logs",
    metadata,
    sa.Column("session_key", sa.Text, primary_key=True),
    sa.Column("last", Id, nullable=False),
    sqlite_with_rowid=False,
    info={"large": True},
)
