"""The table of notifications that were sent lately."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.store.database.tables import metadata

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
    info={"large": True},
)
