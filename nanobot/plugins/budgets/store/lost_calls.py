"""Calls that a crash interrupted: a repeated call takes the place of the lost one, all others are
counted.
"""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.errors import OverBudget
from nanobot.plugins.budgets.limits import shown
from nanobot.plugins.budgets.reservations import CallOutcome
from nanobot.plugins.common.store import usage_tables
from nanobot.store.database.connection import Connection

MADE_AGAIN = CallOutcome(state="replaced", tokens_in=0, tokens_out=0)
"""A call that was lost in a crash and is repeated: the lost one counts only as a request."""

_c = usage_tables.model_call_costs
_EARLIER = (
    sa.select(_c.c.id)
    .where(_c.c.day < sa.bindparam("d"))
    .order_by(_c.c.id.desc())
    .limit(1)
    .correlate(None)
    .scalar_subquery()
)
"""The last call of an earlier day, found from the newest back: the calls have no index by day."""
_LOST = sa.select(
    sa.func.count(),
    sa.func.coalesce(sa.func.sum(_c.c.tokens_in + _c.c.tokens_out), 0),
    sa.func.coalesce(sa.func.sum(_c.c.cost), 0.0),
).where(
    _c.c.id > sa.func.coalesce(_EARLIER, 0), _c.c.day == sa.bindparam("d"), _c.c.state == "lost"
)


def with_lost(connection: Connection, refused: OverBudget, day: str) -> OverBudget:
    """The refusal, with the part of the day's usage that is counted for calls lost in crashes."""
    calls, tokens, cost = connection.execute(_LOST, {"d": day}).one()
    if not calls:
        return refused
    text = (
        f"{refused}; of today's, {shown('requests', calls)} cut off by crashes "
        f"took {shown('tokens', tokens)} and {shown('cost', cost)}"
    )
    return OverBudget(text, refused.reason, of_model=refused.of_model, until=refused.until)
