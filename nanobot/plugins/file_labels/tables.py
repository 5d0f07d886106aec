"""The table of labels of workspace files."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.store.database.tables import metadata

# Files with content from untrusted sources, by path and by content hash.
tainted_files = sa.Table(
    "tainted_files",
    metadata,
    sa.Column("kind", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    # Without its row a file would count as trusted.
    sa.Column("at", sa.Double, nullable=False, info={"default": lambda now: now}),
    sqlite_with_rowid=False,
    info={"large": True},
)
