"""Gateways and stores with a ledger, as the plugin gives them one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nanobot.plugins.budgets.limits import Budgets, UsageStore
from nanobot.plugins.budgets.operations import operations
from nanobot.plugins.budgets.service import SpentByNow
from nanobot.plugins.budgets.settings import UNLIMITED, BudgetSettings
from nanobot.plugins.budgets.store.ledger import SqlCallLedger
from nanobot.plugins.budgets.store.usage import SqlUsageStore
from nanobot.plugins.common.models.spending import Spending
from nanobot.store.unit import CallLedger, StoreContext
from nanobot.testing.gateway import Brought, FakeGateway

LedgerOf = Callable[[StoreContext], CallLedger]


def ledger(
    settings: BudgetSettings = UNLIMITED, zone: str = "UTC", max_run_cost: float = 0.0
) -> LedgerOf:
    """Makes the ledger of a process that has these limits; without any it counts."""
    return ledger_of(Budgets(settings, zone, max_run_cost))


def ledger_of(budgets: Budgets) -> LedgerOf:
    """Makes the ledger of a process that has these limits."""
    return lambda context: SqlCallLedger(budgets, context.clock)


COUNTED = ledger()


def spending(bot: FakeGateway) -> SqlUsageStore:
    """What the calls of a gateway used."""
    return SqlUsageStore(bot.process, bot.process.writer)


def brings(bot: FakeGateway) -> Brought:
    """The operation that shows it, and what that asks for."""
    kept = bot.process.writer.ledger
    assert isinstance(kept, SqlCallLedger)
    usage = spending(bot)
    offers: dict[Any, Any] = {Budgets: kept.budgets, UsageStore: usage}
    offers[Spending] = SpentByNow(kept.budgets, usage, bot.home.clock)
    return Brought(operations=tuple(operations()), offers=offers)
