"""The totals of what model calls used, by day, level and name.

With SQLite, one thread adds to them as calls end. With PostgreSQL, a row that every turn of every
process changes would serialize all of them. So each change is a separate row there. Readers sum
these rows together with the totals. From time to time they are added to the totals.
"""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from nanobot.plugins.common.store import usage_tables
from nanobot.store.database.connection import Connection
from nanobot.store.database.prepared import Prepared, Values

_t = usage_tables.usage_totals
_AMOUNTS = ("requests", "tokens_in", "tokens_out", "cost", "unpriced")
_FOLDED_AT_ONCE = 5_000

_new = sqlite.insert(_t)
_ADD = Prepared(
    _new.on_conflict_do_update(
        index_elements=["day", "level", "name"],
        set_={name: _t.c[name] + _new.excluded[name] for name in _AMOUNTS},
    )
)
_APPEND = Prepared(sa.insert(usage_tables.usage_changes))
_ALONE = sa.text("SELECT pg_try_advisory_xact_lock(hashtext('usage totals'))")
_FOLD = sa.text(
    "WITH folded AS (DELETE FROM usage_changes WHERE id IN "
    "(SELECT id FROM usage_changes ORDER BY id LIMIT :n) RETURNING *) "
    "INSERT INTO usage_totals AS t "
    "(day, level, name, requests, tokens_in, tokens_out, cost, unpriced) "
    "SELECT day, level, name, "
    "sum(requests), sum(tokens_in), sum(tokens_out), sum(cost), sum(unpriced) "
    "FROM folded GROUP BY day, level, name "
    "ON CONFLICT (day, level, name) DO UPDATE SET requests = t.requests + excluded.requests, "
    "tokens_in = t.tokens_in + excluded.tokens_in, "
    "tokens_out = t.tokens_out + excluded.tokens_out, "
    "cost = t.cost + excluded.cost, unpriced = t.unpriced + excluded.unpriced"
)


def add(connection: Connection, changes: Sequence[Values]) -> None:
    """Count these amounts, each with its day, level and name."""
    statement = _ADD if connection.dialect.name == "sqlite" else _APPEND
    statement.many(connection, changes)


def fold(connection: Connection) -> None:
    """Fold the counted amounts into the totals, unless another process is doing so."""
    if connection.dialect.name != "sqlite" and connection.scalar(_ALONE):
        connection.execute(_FOLD, {"n": _FOLDED_AT_ONCE})
