"""The tools of MCP servers, as listed and as accepted; the label of each approval rule."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"

_NAME = "approval_rules"
_OLD = "approval_rules_before"
# Existing rules keep their scope: owners and members spoke, or anybody if the run was tainted.
_LABELS = "CASE WHEN tainted THEN 'omgpftx2:*' ELSE 'om2' END"


def upgrade() -> None:
    """Create the table of tools, and give existing rules a label."""
    op.create_table(
        "mcp_tools",
        sa.Column("server", sa.Text, primary_key=True),
        sa.Column("tool", sa.Text, primary_key=True),
        sa.Column("said", sa.Text, nullable=False),
        sa.Column("accepted", sa.Text, nullable=False),
        sa.Column("by", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sqlite_with_rowid=False,
    )
    if op.get_bind().dialect.name == "postgresql":
        op.add_column(_NAME, sa.Column("label", sa.Text))
        op.execute(f"UPDATE {_NAME} SET label = {_LABELS}")  # noqa: S608 - names of ours
        op.alter_column(_NAME, "label", nullable=False)
        return
    # SQLite would add the column to the table's text in another form than that of a new table.
    big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.rename_table(_NAME, _OLD)
    op.create_table(
        _NAME,
        sa.Column("id", big, primary_key=True, autoincrement=True),
        sa.Column("session_key", sa.Text, nullable=False),
        sa.Column("tool", sa.Text, nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("tainted", sa.Boolean, nullable=False),
        sa.Column("by", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("label", sa.Text, nullable=False),
    )
    op.execute(f"INSERT INTO {_NAME} SELECT *, {_LABELS} FROM {_OLD}")  # noqa: S608 - names of ours
    op.drop_table(_OLD)
