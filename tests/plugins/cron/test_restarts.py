"""Whatever ends the process at whatever moment: every due time has one row, and one end."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from nanobot.errors import StoreError
from nanobot.messages import Address, Role
from nanobot.plugins.common.jobs.plans import Job
from nanobot.plugins.common.store import job_tables
from nanobot.plugins.cron.editing import JobRequest, Requester
from nanobot.plugins.cron.jobs import when
from nanobot.plugins.cron.schedule import coming
from nanobot.plugins.jobs.due import LATE_SECONDS
from nanobot.plugins.jobs.store.absences import count_of
from nanobot.store.database import schema
from nanobot.testing.gateway import MemoryHome
from nanobot.testing.machine import ManualClock
from nanobot.testing.model import ScriptedProvider
from nanobot.testing.platform import FakeChannel
from tests.plugins.cron.scheduling import editor_of, gateway, jobs_of
from tests.sampling import examples

NOON = datetime(2026, 3, 28, 12, tzinfo=UTC).timestamp()
OWNER = Requester(
    role=Role.OWNER, sender_id="1001", address=Address("fake", "1"), session_key="fake:1"
)
ENDS = {"done", "failed", "skipped", "missed", "cancelled"}
SCHEDULES = ("*/7 * * * *", "30 2 * * *", "every 11 minutes", "+50m", "0 */2 * * 0")


class Killed(StoreError):
    """The process is gone at this point."""


def rows(home: MemoryHome, query: sa.Select[Any]) -> list[Any]:
    return home.do(lambda connection: list(connection.execute(query)))


# The noon before the clocks change, forward and back, wherever they do.
CHANGES = (
    ("Europe/Berlin", datetime(2026, 3, 28, 11, tzinfo=UTC)),
    ("Europe/Berlin", datetime(2026, 10, 24, 10, tzinfo=UTC)),
    ("Europe/London", datetime(2026, 3, 28, 12, tzinfo=UTC)),
    ("Europe/Dublin", datetime(2026, 10, 24, 11, tzinfo=UTC)),
    ("America/New_York", datetime(2026, 3, 7, 17, tzinfo=UTC)),
    ("America/New_York", datetime(2026, 10, 31, 16, tzinfo=UTC)),
    ("America/St_Johns", datetime(2026, 3, 7, 15, tzinfo=UTC)),
    ("America/Santiago", datetime(2026, 9, 5, 16, tzinfo=UTC)),
    ("America/Havana", datetime(2026, 10, 31, 16, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2026, 4, 4, 1, tzinfo=UTC)),
    ("Australia/Sydney", datetime(2026, 10, 3, 2, tzinfo=UTC)),
    ("Pacific/Auckland", datetime(2026, 4, 4, 23, tzinfo=UTC)),
    ("Antarctica/Troll", datetime(2026, 3, 28, 12, tzinfo=UTC)),
    ("Asia/Kathmandu", datetime(2026, 1, 1, tzinfo=UTC)),
)


async def life(
    home: MemoryHome, rng: random.Random, jobs: list[Job] | None, zone: str
) -> list[Job]:
    """One process: some minutes in steps, until it is killed somewhere around a verb."""
    left, after = rng.randrange(3, 60), rng.random() < 0.5
    assert isinstance(home.clock, ManualClock)
    async with gateway(ScriptedProvider(), FakeChannel(), home=home) as bot:
        if jobs is None:
            jobs = [
                await editor_of(bot).add(OWNER, _wish(schedule, zone, rng))
                for schedule in SCHEDULES
            ]

        def reach(_verb: str) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                bot.process.dead = True
                raise Killed("kill -9")

        if after:
            bot.process.after = reach
        else:
            bot.process.before = reach
        await jobs_of(bot.process).realign(0) if not bot.process.dead else None
        while not bot.process.dead:
            try:
                await bot.cron.fire()
            except StoreError:
                break
            await bot.settle()
            home.clock.advance(rng.choice([1, 20, 60, 300, 1_800]))
        bot.crash()
    home.clock.advance(rng.choice([0, 1, 90, 3_000, 40_000]))
    return jobs


def _wish(schedule: str, zone: str, rng: random.Random) -> JobRequest:
    return JobRequest(
        schedule=schedule,
        zone=zone,
        text=f"Look: {schedule}",
        misfire=rng.choice(["skip", "run_once", "run_all"]),
        overlap=rng.choice(["skip", "queue", "replace"]),
        retries=rng.choice([0, 1]),
        send=rng.random() < 0.3,
    )


@pytest.mark.process
@settings(max_examples=4)
@given(st.integers(0, 2**32))
async def test_random_restarts_leave_every_due_time_one_row_with_one_end(seed: int) -> None:
    await lives(seed)


@pytest.mark.slow
@settings(max_examples=examples(60))
@given(st.integers(0, 2**32))
async def test_many_random_restarts_leave_every_due_time_one_row_with_one_end(seed: int) -> None:
    await lives(seed)


async def lives(seed: int) -> None:
    """Several processes after each other, over the night in which the clocks change somewhere."""
    rng = random.Random(seed)
    zone, noon = rng.choice(CHANGES)
    async with MemoryHome(ManualClock(noon.timestamp())) as home:
        jobs = await life(home, rng, None, zone)
        for _ in range(rng.randrange(1, 5)):
            await life(home, rng, jobs, zone)
        async with gateway(ScriptedProvider(), FakeChannel(), home=home) as bot:
            for _ in range(12):
                await bot.cron.fire()
                await bot.settle()
        occurrences = rows(home, sa.select(job_tables.occurrences))
        assert {row.status for row in occurrences} <= ENDS
        assert all(row.ended_at is not None for row in occurrences)
        for job in jobs:
            expected = due(job, home.clock.now())
            own = [row for row in occurrences if row.job_id == job.id]
            had = sorted(time for row in own for time in _times_of(job, row))
            assert had == expected, job.plan.schedule
            at_once = [row for row in occurrences if row.job_id == job.id and job.plan.once]
            assert all(row.status in {"done", "failed"} for row in at_once)
        _answers_are_posted_once(home)


def _times_of(job: Job, row: Any) -> list[float]:
    """The times that a row is for."""
    more = coming(when(job.plan), row.scheduled_at, count_of(row.body) - 1)
    return [row.scheduled_at, *more]


def due(job: Job, until: float) -> list[float]:
    """All its times up to then."""
    count = 10
    while True:
        times = coming(when(job.plan), job.created_at, count)
        if len(times) < count or times[-1] > until:
            return [time for time in times if time <= until]
        count *= 4


def _answers_are_posted_once(home: MemoryHome) -> None:
    keys = [row.key for row in rows(home, sa.select(schema.outbound.c.key))]
    posted = [key for key in keys if key.startswith("cron:")]
    assert len(posted) == len(set(posted))
    query = sa.select(schema.inbound.c.dedupe_key).where(schema.inbound.c.origin == "cron")
    keys_asked = [row.dedupe_key for row in rows(home, query)]
    assert len(keys_asked) == len(set(keys_asked))


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("send", [False, True])
async def test_a_crash_around_the_firing_does_it_once(
    after: bool,
    send: bool,
) -> None:
    async with MemoryHome(ManualClock(NOON)) as home:
        channel = FakeChannel()
        async with gateway(home=home, channel=channel) as bot:
            job = await editor_of(bot).add(OWNER, JobRequest(schedule="+1m", text="Tea", send=send))
            home.clock.advance(60)  # type: ignore[attr-defined]

            def reach(verb: str) -> None:
                if verb == "cron_fire":
                    bot.process.dead = True
                    raise Killed("kill -9")

            if after:
                bot.process.after = reach
            else:
                bot.process.before = reach
            with pytest.raises(Killed):
                await bot.cron.fire()
            bot.crash()
        home.clock.advance(LATE_SECONDS / 2)  # type: ignore[attr-defined]
        async with gateway(home=home) as bot:
            for _ in range(3):
                await bot.cron.fire()
                await bot.settle()
            assert (await bot.channel.pop()).text == ("Tea" if send else "echo: Tea")
            (occurrence,) = await editor_of(bot).history(str(job.id), 9)
            assert occurrence.status == "done"
