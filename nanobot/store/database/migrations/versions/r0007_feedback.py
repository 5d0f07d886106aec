"""Where feedback stands in the logs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """An index of what people thought of answers: few entries are that."""
    where = sa.text("kind = 'feedback'")
    op.create_index(
        "entries_feedback",
        "entries",
        ["run_id", "seq"],
        sqlite_where=where,
        postgresql_where=where,
    )
