"""Tables of what was removed from the store, or moved out of it."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.store.database.tables import Id, metadata

# How much of a session's log has been moved to an archive; see the plugin erasure.
archived_logs = sa.Table(
    "archived_logs",
    metadata,
    sa.Column("session_key", sa.Text, primary_key=True),
    sa.Column("last", Id, nullable=False),
    sqlite_with_rowid=False,
)

# Deletions in progress, so that a crash does not leave one half done.
erasures = sa.Table(
    "erasures",
    metadata,
    sa.Column("kind", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    sqlite_with_rowid=False,
)
