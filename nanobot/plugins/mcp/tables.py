"""The table of the tools of MCP servers."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import sqlalchemy as sa

from nanobot.store.database.tables import metadata


def _described(encoded: bytes) -> object:
    """A tool's description and schema. msgspec's decoder refuses halves of surrogate pairs, which
    programs may send."""
    return msgspec.convert(json.loads(encoded), tuple[str, dict[str, Any]])


# `said`: a tool as its server describes it now; `accepted`: as an owner accepted it, or empty. Both
# are JSON of the description and the schema.
mcp_tools = sa.Table(
    "mcp_tools",
    metadata,
    sa.Column("server", sa.Text, primary_key=True),
    sa.Column("tool", sa.Text, primary_key=True),
    sa.Column("said", sa.Text, nullable=False, info={"decode": _described}),
    sa.Column(
        "accepted",
        sa.Text,
        nullable=False,
        info={"decode": lambda accepted: accepted and _described(accepted)},
    ),
    sa.Column("by", sa.Text, nullable=False),
    sa.Column("at", sa.Double, nullable=False),
    sqlite_with_rowid=False,
)
