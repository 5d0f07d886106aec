"""Tables of tools: those of MCP servers, and commands in the background."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.store.database.tables import metadata, next_id

# `said`: a tool as its server describes it now; `accepted`: as an owner accepted it, or empty. Both
# are JSON of the description and the schema.
mcp_tools = sa.Table(
    "mcp_tools",
    metadata,
    sa.Column("server", sa.Text, primary_key=True),
    sa.Column("tool", sa.Text, primary_key=True),
    sa.Column("said", sa.Text, nullable=False),
    sa.Column("accepted", sa.Text, nullable=False),
    sa.Column("by", sa.Text, nullable=False),
    sa.Column("at", sa.Double, nullable=False),
    sqlite_with_rowid=False,
)

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
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("command", sa.Text, nullable=False),
    sa.Column("owner", sa.Text, nullable=False),
    sa.Column("seen_at", sa.Double, nullable=False),
    sa.Column("ended_at", sa.Double),
)
