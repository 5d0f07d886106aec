"""Collects all current metrics: counters, and gauges from the store."""

from __future__ import annotations

import shutil

from nanobot.operations.engine import Engine
from nanobot.plugins.common.faces import Metric
from nanobot.plugins.common.gateway_facts import GatewayFacts
from nanobot.plugins.common.models.spending import Spending
from nanobot.plugins.common.store.counts import StoreCounts
from nanobot.plugins.metrics import families
from nanobot.plugins.metrics.families import FAMILIES, Family
from nanobot.plugins.metrics.meter import Meter, meter_of
from nanobot.plugins.metrics.series import gauge
from nanobot.plugins.metrics.store import MOST_RUNS, MetricsStore
from nanobot.store.opening import Store

_ORDER = {family.name: place for place, family in enumerate(FAMILIES)}


async def look(
    engine: Engine, facts: GatewayFacts, store: Store, spending: Spending | None = None
) -> list[Metric]:
    """Every family, in the order of the table. Raises StoreError."""
    meter = meter_of(engine.bus)
    own = MetricsStore(store.database, store.writer)
    await _time_ended(meter, own)
    found = [*meter.metrics(), *await _standing(engine, facts, own), *await _budgets(spending)]
    return sorted(found, key=lambda metric: _ORDER[metric.name])


async def _time_ended(meter: Meter, store: MetricsStore) -> None:
    """Add the durations of messages and answers of the runs that ended since the last look."""
    waiting = meter.take_ended()
    while waiting:
        some, waiting = waiting[:MOST_RUNS], waiting[MOST_RUNS:]
        for run, times in zip(some, await store.times(some), strict=True):
            if times.owed:
                meter.give_back([run])
            elif times.began is not None:
                if times.asked is not None:
                    meter.to_claim.observe(times.began - times.asked, run.channel)
                if times.received is not None:
                    meter.to_receipt.observe(times.received - times.began, run.channel)


async def _standing(engine: Engine, gateway: GatewayFacts, store: MetricsStore) -> list[Metric]:
    counts, facts, now = (
        await StoreCounts.over(store).counts(),
        gateway.now(),
        await store.standing(),
    )
    disk = shutil.disk_usage(facts.home)

    def each_channel(family: Family, found: dict[str, float]) -> Metric:
        values = dict.fromkeys(facts.channels, 0.0) | found
        by_labels: dict[tuple[str, ...], float] = {
            (channel,): value for channel, value in values.items()
        }
        return gauge(family, by_labels)

    up = {channel: float(state == "up") for channel, state in facts.channels.items()}
    outbox: dict[tuple[str, ...], float] = {
        ("owed",): float(counts.owed),
        ("dead",): float(counts.dead),
    }
    leases: dict[tuple[str, ...], float] = {
        ("lane",): float(now.lanes),
        ("channel",): float(now.channels),
    }
    return [
        gauge(families.UPTIME, {(): engine.uptime()}),
        gauge(families.SESSIONS, {(): float(counts.sessions)}),
        gauge(families.RUNNING, {(): float(len(engine.running()))}),
        gauge(families.INBOX, {(): float(counts.waiting)}),
        gauge(families.OUTBOX, outbox),
        each_channel(families.CHANNEL_UP, up),
        each_channel(families.OLDEST_WAITING, now.oldest_waiting),
        each_channel(families.OLDEST_UNSENT, now.oldest_unsent),
        each_channel(families.DEAD, now.dead),
        gauge(families.LEASES, leases),
        gauge(families.STORE_SIZE, {(): float(now.size)}),
        gauge(families.DISK_FREE, {(): float(disk.free)}),
        gauge(families.DISK_SIZE, {(): float(disk.total)}),
    ]


async def _budgets(spending: Spending | None) -> list[Metric]:
    if spending is None:
        return []
    used = await spending.used_shares()
    shares: dict[tuple[str, ...], float] = {(measure,): share for measure, share in used.items()}
    return [gauge(families.BUDGET, shares)]
