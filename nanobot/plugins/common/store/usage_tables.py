"""Tables for the usage of model calls."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.store.database.tables import Id, metadata, next_id, partial, words

CALL_OPEN = sa.text("model_call_costs.state = 'open'")

# Every model call: reserved before it is made (`open`), settled with the entry that ends it. `root`
# is the run that no other run started. Prices are dollars per token, at the time of the call.
model_call_costs = sa.Table(
    "model_call_costs",
    metadata,
    next_id("model_call_costs"),
    sa.Column("run_id", sa.Text, nullable=False),
    sa.Column("call", sa.Integer, nullable=False),
    sa.Column("root", sa.Text, nullable=False, index=True),
    sa.Column("session_key", sa.Text, nullable=False),
    sa.Column("day", sa.Text, nullable=False),
    sa.Column("at", sa.Double, nullable=False),
    sa.Column("person", sa.Text, nullable=False),
    sa.Column("chat", sa.Text, nullable=False),
    sa.Column("job", sa.Text, nullable=False),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column(
        "state",
        sa.Text,
        nullable=False,
        info=words("open", "settled", "estimated", "failed", "lost", "replaced"),
    ),
    sa.Column("requests", sa.Integer, nullable=False),
    sa.Column("tokens_in", Id, nullable=False),
    sa.Column("tokens_out", Id, nullable=False),
    sa.Column("cost", sa.Double, nullable=False),
    sa.Column("price_in", sa.Double),
    sa.Column("price_out", sa.Double),
    sa.Column("price_cached", sa.Double),
    sa.Column("price_cache_write", sa.Double),
    info={"in_use": CALL_OPEN},
)
partial("calls_open", CALL_OPEN, model_call_costs.c.session_key)

# Settled usage, by day and level; an empty name is the total of all.
usage_totals = sa.Table(
    "usage_totals",
    metadata,
    sa.Column("day", sa.Text, primary_key=True),
    sa.Column("level", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("requests", Id, nullable=False),
    sa.Column("tokens_in", Id, nullable=False),
    sa.Column("tokens_out", Id, nullable=False),
    sa.Column("cost", sa.Double, nullable=False),
    sa.Column("unpriced", Id, nullable=False),
    sqlite_with_rowid=False,
    info={"large": True},
)

# With PostgreSQL: changes to the totals that have not been folded in yet.
usage_changes = sa.Table(
    "usage_changes",
    metadata,
    next_id("usage_changes"),
    sa.Column("day", sa.Text, nullable=False),
    sa.Column("level", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("requests", Id, nullable=False),
    sa.Column("tokens_in", Id, nullable=False),
    sa.Column("tokens_out", Id, nullable=False),
    sa.Column("cost", sa.Double, nullable=False),
    sa.Column("unpriced", Id, nullable=False),
    sa.Index("usage_changes_of", "day", "level", "name"),
    info={"large": True},
)

# Which soft limits a chat has been warned about.
budget_warnings = sa.Table(
    "budget_warnings",
    metadata,
    sa.Column("day", sa.Text, primary_key=True),
    sa.Column("chat", sa.Text, primary_key=True),
    sa.Column("of", sa.Text, primary_key=True),
    sqlite_with_rowid=False,
)
