"""What it costs to put a token of the prompt into a provider's cache."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

_NAME = "model_call_costs"
_OLD = "model_call_costs_before"


def upgrade() -> None:
    """A price with each model call; empty where none is known."""
    added = sa.Column("price_cache_write", sa.Double)
    if op.get_bind().dialect.name == "postgresql":
        op.add_column(_NAME, added)
        return
    # SQLite would add it to the table's text in another form than that of a new table.
    op.drop_index("calls_open", _NAME)
    op.drop_index("ix_model_call_costs_root", _NAME)
    op.rename_table(_NAME, _OLD)
    op.create_table(
        _NAME,
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("call", sa.Integer, nullable=False),
        sa.Column("root", sa.Text, nullable=False, index=True),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("session_key", "day")),
        sa.Column("at", sa.Double, nullable=False),
        *(
            sa.Column(name, sa.Text, nullable=False)
            for name in ("person", "chat", "job", "model", "state")
        ),
        sa.Column("requests", sa.Integer, nullable=False),
        sa.Column("tokens_in", sa.Integer, nullable=False),
        sa.Column("tokens_out", sa.Integer, nullable=False),
        sa.Column("cost", sa.Double, nullable=False),
        sa.Column("price_in", sa.Double),
        sa.Column("price_out", sa.Double),
        sa.Column("price_cached", sa.Double),
        added,
    )
    op.execute(f"INSERT INTO {_NAME} SELECT *, NULL FROM {_OLD}")  # noqa: S608 - names of ours
    op.drop_table(_OLD)
    op.create_index(
        "calls_open",
        _NAME,
        ["session_key"],
        sqlite_where=sa.text("model_call_costs.state = 'open'"),
    )
