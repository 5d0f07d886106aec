"""A machine that slept: what was missed is one row with a count, whatever the job and its rule."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from nanobot.testing.gateway import FakeGateway, MemoryHome
from nanobot.testing.machine import ManualClock
from nanobot.testing.platform import OWNER
from tests.plugins.cron.scheduling import gateway, jobs_of

BEGIN = 1_790_000_000.0
SLEPT = 3 * 86_400.0
TICKS = int(SLEPT // 10)


async def _slept(bot: FakeGateway, clock: ManualClock, rule: str) -> None:
    await bot.channel.push(f"/cron add {rule} every 10 seconds Look", sender=OWNER)
    await bot.channel.pop()
    await bot.cron.fire()
    await bot.settle()
    clock.advance(SLEPT)
    for _ in range(4):
        await bot.cron.fire()
        await bot.settle()


def _rows(bot: FakeGateway) -> list[tuple[str, str]]:
    query = sa.text("SELECT status, error FROM occurrences ORDER BY scheduled_at")
    return [(row[0], row[1] or "") for row in bot.home.do(lambda c: c.execute(query).all())]


@pytest.mark.parametrize(
    ("rule", "missed", "runs"),
    [
        ("misfire=run_once", TICKS - 6, 1),
        pytest.param("misfire=skip", TICKS - 6, 1, marks=pytest.mark.slow),
        pytest.param("misfire=run_all window=864000", TICKS - 101, 1, marks=pytest.mark.slow),
        ("misfire=run_all window=864000 overlap=queue", TICKS - 101, 100),
        pytest.param(
            "misfire=run_all send=yes window=864000", TICKS - 101, 0, marks=pytest.mark.slow
        ),
    ],
)
async def test_three_days_of_every_ten_seconds_are_one_row_and_few_runs(
    rule: str, missed: int, runs: int
) -> None:
    clock = ManualClock(BEGIN)
    async with MemoryHome(clock) as home, gateway(home=home) as bot:
        await _slept(bot, clock, rule)
        rows = _rows(bot)
        counted = [error for status, error in rows if status == "missed"]
        assert len(counted) == 1
        assert f"{missed:,} times" in counted[0]
        assert "nanobot was not running" in counted[0]
        assert len(rows) < 120
        assert home.do(lambda c: c.scalar(sa.text("SELECT count(*) FROM runs"))) <= runs
        shown = await jobs_of(bot.process).history(job_id=1, limit=200)
        assert any(f"{missed:,} times" in (row.error or "") for row in shown)


async def test_a_second_absence_after_a_done_time_has_a_row_of_its_own() -> None:
    clock = ManualClock(BEGIN)
    async with MemoryHome(clock) as home, gateway(home=home) as bot:
        await _slept(bot, clock, "misfire=run_once")
        clock.advance(SLEPT)
        for _ in range(4):
            await bot.cron.fire()
            await bot.settle()
        counts = [error for status, error in _rows(bot) if status == "missed"]
        assert len(counts) == 2
        assert all("25,9" in error for error in counts), counts


async def test_one_missed_time_is_said_as_before() -> None:
    clock = ManualClock(BEGIN)
    async with MemoryHome(clock) as home, gateway(home=home) as bot:
        await bot.channel.push("/cron add misfire=skip every 10 minutes Look", sender=OWNER)
        await bot.channel.pop()
        await bot.cron.fire()
        clock.advance(700.0)
        await bot.cron.fire()
        await bot.settle()
        assert _rows(bot) == [("missed", "nanobot was not running")]
