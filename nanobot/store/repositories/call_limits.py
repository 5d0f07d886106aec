"""Which limits hold for a call."""

from __future__ import annotations

from nanobot.agent.budgets import Account, BudgetLimit, Budgets


def limits_of(budgets: Budgets, who: Account, *, priced: bool) -> tuple[BudgetLimit, ...]:
    """The limits of a call. Where a name has a limit of cost too, its tokens count only for calls
    whose price is unknown: what is free, or cheap, ends no day."""
    limits = budgets.limits(who)
    if not priced:
        return limits
    costed = {(limit.level, limit.name) for limit in limits if limit.measure == "cost"}
    return tuple(
        limit
        for limit in limits
        if limit.measure != "tokens" or (limit.level, limit.name) not in costed
    )
