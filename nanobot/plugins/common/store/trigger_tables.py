"""The table of the state of triggers."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.store.database.tables import metadata

# State that triggers keep across restarts: one text each, in a format of the trigger's choice.
trigger_state = sa.Table(
    "trigger_state",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("body", sa.LargeBinary, nullable=False),
    sa.Column("changed_at", sa.Double, nullable=False),
)
