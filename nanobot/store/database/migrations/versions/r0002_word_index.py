"""The index of memories' words is merged in small steps only."""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """What FTS5 does by itself, every now and then, holds up all others for 60 ms and more."""
    if op.get_bind().dialect.name == "sqlite":
        op.execute("INSERT INTO memories_fts (memories_fts, rank) VALUES ('automerge', 0)")
        op.execute("INSERT INTO memories_fts (memories_fts, rank) VALUES ('crisismerge', 500)")
