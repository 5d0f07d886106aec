"""What is counted over PostgreSQL is a row of its own first."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """The totals alone made all chats of all processes wait for each other."""
    big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "usage_changes",
        sa.Column("id", big, primary_key=True, autoincrement=True),
        sa.Column("day", sa.Text, nullable=False),
        sa.Column("level", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("requests", big, nullable=False),
        sa.Column("tokens_in", big, nullable=False),
        sa.Column("tokens_out", big, nullable=False),
        sa.Column("cost", sa.Double, nullable=False),
        sa.Column("unpriced", big, nullable=False),
        sa.Index("usage_changes_of", "day", "level", "name"),
    )
