"""Participants in the transactions of a store, passed in when the store is opened."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from nanobot.agent.budgets import Budgets
from nanobot.store.opening import HooksOf
from nanobot.store.repositories.job_reads import JobReads
from nanobot.store.repositories.ledger import SqlBudgetLedger
from nanobot.store.repositories.tasks import SqlTaskEnds
from nanobot.store.unit import NotificationLimiter, StoreContext, StoreHooks


def store_hooks(
    budgets: Budgets | None = None,
    quiet: Callable[[StoreContext], NotificationLimiter] | None = None,
    brought: Callable[[StoreContext], StoreHooks] = lambda _: StoreHooks(),
) -> HooksOf:
    """Background runs, with the participants that enforce these limits and those that plugins
    provide.
    """

    def hooks(context: StoreContext) -> StoreHooks:
        parts = brought(context)
        return msgspec.structs.replace(
            parts,
            ledger=None if budgets is None else SqlBudgetLedger(budgets, context.clock),
            tasks=SqlTaskEnds(context),
            notifications=parts.notifications if quiet is None else quiet(context),
            arrives=(*parts.arrives, JobReads()),
        )

    return hooks
