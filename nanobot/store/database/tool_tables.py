"""The table of tools of MCP servers."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.store.database.tables import metadata

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
