"""The table of background runs."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import sqlalchemy as sa

from nanobot.session.run_types import Report
from nanobot.store.database.tables import metadata, words

# The assignment of a background run. `key` is the same when the run is requested again.
tasks = sa.Table(
    "tasks",
    metadata,
    sa.Column("run_id", sa.Text, primary_key=True),
    sa.Column("key", sa.Text, nullable=False, unique=True),
    sa.Column("type", sa.Text, nullable=False),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column(
        "input",
        sa.LargeBinary,
        nullable=False,
        info={"decode": msgspec.json.Decoder(Any).decode},
    ),
    sa.Column("report", sa.Text, nullable=False, info=words(*get_args(Report))),
    sa.Column("depth", sa.Integer, nullable=False),
    sa.Column("tainted", sa.Boolean, nullable=False),
    sa.Column("not_before", sa.Double, nullable=False),
    sa.Column("deadline", sa.Double),
    sqlite_with_rowid=False,
    info={"large": True, "of_background_runs": True},
)
