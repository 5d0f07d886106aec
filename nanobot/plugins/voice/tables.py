"""The table of answers to be spoken."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.store.database.tables import metadata

# Answers that still have to be converted to speech; the text is in the outbox. `not_before`: a
# worker holds the row until then.
voice_answers = sa.Table(
    "voice_answers",
    metadata,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("run_id", sa.Text, nullable=False),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("not_before", sa.Double, nullable=False, server_default="0"),
    sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
    sqlite_with_rowid=False,
)
