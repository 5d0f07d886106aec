"""The table of rows that could not be read."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.store.database.tables import Id, metadata

# One row for each that could not be read: where it was, which column is wrong and why. `content`
# holds it as it was, with the rows that were taken along. `state`: moved (it is only here),
# repaired (it is still in its table, with a plain value in the column), restored. `told`: owners
# have been sent a notice.
quarantine = sa.Table(
    "quarantine",
    metadata,
    sa.Column("id", Id, primary_key=True, autoincrement=True),
    sa.Column("of_table", sa.Text, nullable=False),
    sa.Column("row_key", sa.Text, nullable=False),
    # The conversation that it is of, with which it is deleted.
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
