"""Budgets: what may be spent in a day, by whom, and what was."""

from __future__ import annotations

from pathlib import Path

from nanobot.plugins.budgets.settings import BudgetSettings, RunCostKeys
from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="budgets",
    summary="Limits and counts what model calls cost.",
    texts=Path(__file__).parent,
    settings=BudgetSettings,
    shares=(RunCostKeys,),
    fits="nanobot.plugins.budgets.service:fits",
    tables=("nanobot.plugins.common.store.usage_tables",),
    ledger="nanobot.plugins.budgets.service:ledger",
    objects="nanobot.plugins.budgets.service:objects",
    operations="nanobot.plugins.budgets.operations:operations",
    exposures="nanobot.plugins.budgets.service:exposures",
    page="nanobot.plugins.budgets.view:views",
    provides={"cost_limited": "nanobot.plugins.budgets.service:cost_limited"},
)
