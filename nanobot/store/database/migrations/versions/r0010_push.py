"""The browsers that are notified, and the key that signs notifications."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Only the tables: a gateway brings over what it has in files."""
    op.create_table(
        "push_subscriptions",
        sa.Column("login", sa.Text, primary_key=True),
        sa.Column("endpoint", sa.Text, nullable=False),
        sa.Column("p256dh", sa.Text, nullable=False),
        sa.Column("auth", sa.Text, nullable=False),
        sa.Column("by", sa.Text, nullable=False),
        sa.Column("session_key", sa.Text, nullable=False),
        sa.Column("told", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "push_keys",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("pem", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )
