"""The table of the key for push notifications."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.store.database.tables import metadata

# The key that signs notifications. There is one row, because a subscription works with one key
# only.
push_keys = sa.Table(
    "push_keys",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("pem", sa.Text, nullable=False),
    sqlite_with_rowid=False,
)
