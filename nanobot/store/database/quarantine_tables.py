"""The table of unreadable rows."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.store.database.tables import metadata, next_id

# One row per unreadable row: where it was, which column is wrong, and why. `content` holds the
# original, with the rows that were moved along with it. `state`: moved (the row exists only here),
# repaired (the row is still in its table, with a default value in the column), or restored. `told`:
# owners have been sent a notice.
quarantine = sa.Table(
    "quarantine",
    metadata,
    next_id("quarantine", once=True),
    sa.Column("of_table", sa.Text, nullable=False),
    sa.Column("row_key", sa.Text, nullable=False),
    # The conversation that the row belongs to. The row is deleted with that conversation.
    sa.Column("session_key", sa.Text, nullable=False, index=True),
    sa.Column("of_column", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("content", sa.LargeBinary, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("told", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("at", sa.Double, nullable=False),
    sa.Index("quarantine_of_table", "of_table", "id"),
    sqlite_autoincrement=True,
)
