"""The table of calls that were approved permanently."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.store.database.tables import metadata, next_id

# Calls that were approved permanently in one conversation.
approval_rules = sa.Table(
    "approval_rules",
    metadata,
    next_id("approval_rules"),
    sa.Column("session_key", sa.Text, nullable=False),
    sa.Column("tool", sa.Text, nullable=False),
    sa.Column("subject", sa.Text, nullable=False),
    sa.Column("tainted", sa.Boolean, nullable=False),
    sa.Column("by", sa.Text, nullable=False),
    sa.Column("created_at", sa.Double, nullable=False),
    sa.Column("label", sa.Text, nullable=False),
)
