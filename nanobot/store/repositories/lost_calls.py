"""Calls that a crash cut off: one that is made again takes its place, the others count."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.agent.budgets import shown
from nanobot.errors import OverBudget
from nanobot.session.usage import CallOutcome
from nanobot.store.database import schema

MADE_AGAIN = CallOutcome(state="replaced", tokens_in=0, tokens_out=0)
"""Of a call that was lost in a crash and is made again: it counts as a request alone."""

_c = schema.model_call_costs
_LOST = sa.select(
    sa.func.count(),
    sa.func.coalesce(sa.func.sum(_c.c.tokens_in + _c.c.tokens_out), 0),
    sa.func.coalesce(sa.func.sum(_c.c.cost), 0.0),
).where(_c.c.day == sa.bindparam("d"), _c.c.state == "lost")


def with_lost(connection: sa.Connection, refused: OverBudget, day: str) -> OverBudget:
    """The refusal with how much of the day is counted for calls that crashes cut off."""
    calls, tokens, cost = connection.execute(_LOST, {"d": day}).one()
    if not calls:
        return refused
    text = (
        f"{refused}; of today's, {shown('requests', calls)} cut off by crashes "
        f"took {shown('tokens', tokens)} and {shown('cost', cost)}"
    )
    return OverBudget(text, refused.reason, of_model=refused.of_model, until=refused.until)
