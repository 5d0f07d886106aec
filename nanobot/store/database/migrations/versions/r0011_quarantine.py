"""Where rows are kept that could not be read."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """There are none yet."""
    big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "quarantine",
        sa.Column("id", big, primary_key=True, autoincrement=True),
        *(
            sa.Column(name, sa.Text, nullable=False)
            for name in ("of_table", "row_key", "session_key", "of_column", "reason")
        ),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("told", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("at", sa.Double, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_quarantine_session_key", "quarantine", ["session_key"])
    op.create_index("quarantine_of_table", "quarantine", ["of_table", "id"])
