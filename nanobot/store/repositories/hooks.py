"""What takes part in the transactions of a store, handed over where the store is opened."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nanobot.agent.budgets import Budgets
from nanobot.store.opening import HooksOf
from nanobot.store.repositories.ledger import SqlBudgetLedger
from nanobot.store.repositories.quiet import SqlNotificationLimiter
from nanobot.store.repositories.tasks import SqlTaskEnds
from nanobot.store.unit import EndHook, StoreContext, StoreHooks
from nanobot.triggers.quiet import QuietHours


def store_hooks(
    budgets: Budgets | None = None,
    quiet: QuietHours | None = None,
    ends: Callable[[StoreContext], Sequence[EndHook]] = lambda _: (),
) -> HooksOf:
    """Background runs, with what keeps to these limits, and what else takes part where runs
    end."""

    def hooks(context: StoreContext) -> StoreHooks:
        return StoreHooks(
            ledger=None if budgets is None else SqlBudgetLedger(budgets, context.clock),
            tasks=SqlTaskEnds(context),
            notifications=None if quiet is None else SqlNotificationLimiter(context, quiet),
            ends=tuple(ends(context)),
        )

    return hooks
