"""The table of leases of channels and chats."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.store.database.tables import metadata

# Which process serves a channel when several share the store.
channel_leases = sa.Table(
    "channel_leases",
    metadata,
    sa.Column("channel", sa.Text, primary_key=True),
    sa.Column("owner", sa.Text),
    sa.Column("until", sa.Double, nullable=False, info={"lease": True}),
    sqlite_with_rowid=False,
)
