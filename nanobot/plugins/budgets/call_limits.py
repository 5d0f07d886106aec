"""Which limits apply to a call."""

from __future__ import annotations

from nanobot.plugins.budgets.limits import Account, BudgetLimit, Budgets


def limits_of(budgets: Budgets, who: Account, *, priced: bool) -> tuple[BudgetLimit, ...]:
    """The limits of a call. If a name also has a cost limit, its tokens count only for calls
    without a known price: calls that are free or cheap should not use up the day.
    """
    limits = budgets.limits(who)
    if not priced:
        return limits
    costed = {(limit.level, limit.name) for limit in limits if limit.measure == "cost"}
    return tuple(
        limit
        for limit in limits
        if limit.measure != "tokens" or (limit.level, limit.name) not in costed
    )
