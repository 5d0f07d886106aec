"""The table of commands in the background."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.messages import Role
from nanobot.store.database.tables import metadata, next_id, words

# Commands that run in the background; those of a process that has ended are lost.
background_commands = sa.Table(
    "background_commands",
    metadata,
    next_id("background_commands"),
    sa.Column("session_key", sa.Text, nullable=False),
    sa.Column("channel", sa.Text, nullable=False),
    sa.Column("chat_id", sa.Text, nullable=False),
    sa.Column("thread_id", sa.Text),
    sa.Column("sender_id", sa.Text, nullable=False),
    sa.Column("role", sa.Text, nullable=False, info=words(*Role)),
    sa.Column("command", sa.Text, nullable=False),
    sa.Column("owner", sa.Text, nullable=False),
    sa.Column("seen_at", sa.Double, nullable=False),
    sa.Column("ended_at", sa.Double),
)
