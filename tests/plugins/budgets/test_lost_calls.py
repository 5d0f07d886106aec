"""What a refusal says of calls that crashes cut off."""

from __future__ import annotations

import time

import pytest
import sqlalchemy as sa

from benchmarks.filled import filled
from benchmarks.filled_rows import Size, day
from nanobot.errors import OverBudget
from nanobot.plugins.budgets.store.lost_calls import with_lost
from nanobot.plugins.common.store import usage_tables
from nanobot.store.database import migrate
from tests.store.crowding import Cost, MeteredDatabase

_c = usage_tables.model_call_costs
FEW = 500
"""Steps by which two searches may differ: they are counted in hundreds."""


async def _refused(calls: int) -> tuple[str, Cost]:
    """What is said, with two calls of today and one of a year ago lost, and what it took."""
    database, today = MeteredDatabase(), day(time.time())

    def prepare(connection: sa.Connection) -> None:
        newest = list(connection.scalars(sa.select(_c.c.id).order_by(_c.c.id.desc()).limit(2)))
        here = _c.c.id.in_(newest)
        connection.execute(sa.update(_c).where(_c.c.day == today).values(state="settled"))
        connection.execute(sa.update(_c).where(here).values(day=today, state="lost"))
        connection.execute(sa.update(_c).where(_c.c.id == 1).values(state="lost"))

    try:
        database.run_now(migrate.prepare)
        filled(database, Size(messages=calls, chats=100, jobs=1, memories=1))
        database.run_now(prepare)
        refused = OverBudget("That is too much", "limit_budget", of_model=False)
        said = await database.transact(lambda c: str(with_lost(c, refused, today)))
        return said, database.costs[-1]
    finally:
        await database.close()


@pytest.mark.process
async def test_only_the_calls_of_the_day_are_read() -> None:
    few, many = await _refused(300), await _refused(6_000)
    for said, _ in (few, many):
        assert said.startswith("That is too much; of today's, 2 model requests cut off by crashes")
    assert many[1].steps <= few[1].steps + FEW
