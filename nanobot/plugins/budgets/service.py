"""The budgets of a gateway, as configured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nanobot.config.loader import Config
from nanobot.plugins.budgets.limits import Account, Budgets, UsageStore
from nanobot.plugins.budgets.settings import BudgetSettings
from nanobot.plugins.budgets.store.ledger import SqlCallLedger
from nanobot.plugins.budgets.store.usage import SqlUsageStore
from nanobot.plugins.common.exposures import Exposure
from nanobot.plugins.common.models.spending import Spending, Spent
from nanobot.ports import Clock
from nanobot.seam.works import Follow
from nanobot.store.opening import Store
from nanobot.store.unit import StoreContext
from nanobot.system import Zone

_EVERYBODY = Account(person="", chat="", job="", model="")


def fits(settings: BudgetSettings, zone: Zone) -> None:
    """Raises ConfigError for an unknown time zone."""
    Budgets(settings, zone)


def ledger(
    writer: StoreContext, settings: BudgetSettings, config: Config, zone: Zone, follow: Follow
) -> SqlCallLedger:
    """Reserves and counts every call of this process, within the limits that are configured now."""
    budgets = Budgets(settings, zone)
    budgets.limit_runs(config)
    follow.add(budgets.configure)
    follow.others_too("agent.max_run_cost", take=budgets.limit_runs)
    return SqlCallLedger(budgets, writer.clock)


def objects(store: Store) -> Mapping[Any, Any]:
    """The limits that the ledger holds, and what was used."""
    kept = store.writer.ledger
    if not isinstance(kept, SqlCallLedger):
        return {}
    usage = SqlUsageStore(store.database, store.writer)
    spent = SpentByNow(kept.budgets, usage, store.writer.clock)
    return {Budgets: kept.budgets, UsageStore: usage, Spending: spent}


class SpentByNow:
    """See Spending."""

    def __init__(self, budgets: Budgets, usage: UsageStore, clock: Clock) -> None:
        self._budgets = budgets
        self._usage = usage
        self._clock = clock

    async def spent(self) -> Spent:
        now = self._clock.now()
        rows = await self._usage.rows("day", self._budgets.since(now, 1), {})
        lately = await self._usage.tokens(now - 60, now)
        return Spent(tokens_a_minute=lately, cost_today=sum(row.cost for row in rows))

    async def used_shares(self) -> Mapping[str, float]:
        limits = [limit for limit in self._budgets.limits(_EVERYBODY) if limit.amount]
        day = self._budgets.period(self._clock.now()).day
        used = await self._usage.standing(day, _EVERYBODY)
        return {limit.measure: limit.used(used["all"]) / limit.amount for limit in limits}


def exposures(budgets: Budgets) -> list[Exposure]:
    """Whether guests can spend without limit."""
    limited = bool(budgets.limits(_EVERYBODY))
    return [
        Exposure(
            attacker="guest",
            level="ok" if limited else "risk",
            reaches="answers without any tool"
            + ("" if limited else ", without any limit of spending"),
            remedy="" if limited else "Set tokens_per_day or cost_per_day in [budgets].",
        )
    ]


def cost_limited(config: Config) -> bool:
    """Whether a limit of cost is all that limits calls, so that prices have to be known. A limit of
    tokens holds whatever they cost."""
    settings = config.of(BudgetSettings)
    budgets = Budgets(settings)
    budgets.limit_runs(config)
    return bool(budgets.run_limit()) or (budgets.by_cost and not settings.tokens_per_day)
