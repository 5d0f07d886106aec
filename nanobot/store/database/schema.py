"""All tables under one name. Every migration makes the same change here; a test compares them."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import get_args

import sqlalchemy as sa

from nanobot.seam.installed import installed
from nanobot.session.quarantine import QuarantineState
from nanobot.store.database import tables
from nanobot.store.database.message_tables import *
from nanobot.store.database.tables import next_id, words

MIN_READER = 1
"""Older programs, which know a smaller number, must not open the store."""


@cache
def metadata() -> sa.MetaData:
    """All tables: those of the core, and those that plugins declare, on or off."""
    for found in installed().found.values():
        for module in found.plugin.tables:
            import_module(module)
    return tables.metadata


def of_plugins() -> list[sa.Table]:
    """The tables that plugins declare."""
    ours = {each.name for each in globals().values() if isinstance(each, sa.Table)}
    return [table for table in metadata().sorted_tables if table.name not in ours]


meta = sa.Table(
    "meta",
    tables.metadata,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)

# One row per unreadable row: where it was, which column is wrong, and why. `content` holds the
# original, with the rows that were moved along with it. `state`: moved (the row exists only here),
# repaired (the row is still in its table, with a default value in the column), or restored. `told`:
# owners have been sent a notice.
quarantine = sa.Table(
    "quarantine",
    tables.metadata,
    next_id("quarantine", once=True),
    sa.Column("of_table", sa.Text, nullable=False),
    sa.Column("row_key", sa.Text, nullable=False),
    # The conversation that the row belongs to. The row is deleted with that conversation.
    sa.Column("session_key", sa.Text, nullable=False, index=True),
    sa.Column("of_column", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("content", sa.LargeBinary, nullable=False),
    sa.Column("state", sa.Text, nullable=False, info=words(*get_args(QuarantineState))),
    sa.Column("told", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("at", sa.Double, nullable=False),
    sa.Index("quarantine_of_table", "of_table", "id"),
    sqlite_autoincrement=True,
)
