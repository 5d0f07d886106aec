"""The table of labels of workspace files."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.store.database.tables import metadata

# Files with content from untrusted sources, by path and by content hash (plugin file_labels).
tainted_files = sa.Table(
    "tainted_files",
    metadata,
    sa.Column("kind", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("at", sa.Double, nullable=False),
    sqlite_with_rowid=False,
)
