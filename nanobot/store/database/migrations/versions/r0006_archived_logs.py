"""How much of a log is in an archive."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Nothing is yet."""
    big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "archived_logs",
        sa.Column("session_key", sa.Text, primary_key=True),
        sa.Column("last", big, nullable=False),
        sqlite_with_rowid=False,
    )
