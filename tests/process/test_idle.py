"""What a gateway costs while nobody says anything."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from tests.process.harness import Nanobot, World
from tests.process.sharing import Cluster


def wake_ups(process: Nanobot) -> int:
    """How often any of its threads has woken up from waiting."""
    states = Path(f"/proc/{process.pid}/task").glob("*/status")
    lines = (line for state in states for line in state.read_text().splitlines())
    return sum(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt"))


def elsewhere(world: World) -> str:
    """Another database of the world's server."""
    return psycopg.conninfo.make_conninfo(world.database_url, dbname="postgres")


@contextmanager
def without_housekeeping(world: World) -> Iterator[None]:
    """The server's own autovacuum ends five transactions a minute, which it counts with ours."""
    with psycopg.connect(elsewhere(world), autocommit=True) as there:
        there.execute("ALTER SYSTEM SET autovacuum = off")
        there.execute("SELECT pg_reload_conf()")
        try:
            yield
        finally:
            there.execute("ALTER SYSTEM RESET autovacuum")
            there.execute("SELECT pg_reload_conf()")


def transactions(world: World) -> int:
    """How many the database of the world has ended, by the server's own count."""
    if not world.database_url:
        return 0
    name = psycopg.conninfo.conninfo_to_dict(world.database_url)["dbname"]
    query = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = %s"
    with psycopg.connect(elsewhere(world)) as there:
        (count,) = there.execute(query, (name,)).fetchone() or (0,)
    return int(count)


async def idle(world: World, *processes: Nanobot, seconds: float) -> tuple[float, float]:
    """Wake-ups of the busiest process and transactions of all, a second."""
    began, done = time.monotonic(), transactions(world)
    before = [wake_ups(process) for process in processes]
    await asyncio.sleep(seconds)
    woken = [wake_ups(one) - old for one, old in zip(processes, before, strict=True)]
    passed = time.monotonic() - began
    return max(woken) / passed, (transactions(world) - done) / passed


async def test_a_gateway_over_postgresql_sleeps_while_nobody_says_anything(
    cluster: Cluster,
) -> None:
    """Soon after its start it still looks more often; the long measurement is below."""
    process = await cluster.start()
    await asyncio.sleep(40)
    woken, done, windows = 6.0, 0.8, 0
    while not (woken < 6 and done < 0.8) and windows < 4:  # a busy machine takes longer to start
        woken, done = await idle(cluster.world, process, seconds=10)
        print(f"{woken:.2f} wake-ups and {done:.2f} transactions a second")
        windows += 1
    assert woken < 6
    assert done < 0.8
    await cluster.stop()


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("processes", [1, 2])
async def test_gateways_that_share_a_database_cost_next_to_nothing(
    cluster: Cluster, processes: int
) -> None:
    world = cluster.world
    members = [await cluster.start() for _ in range(processes)]
    world.telegram.say(1, "say:hello")
    await world.answered(1)
    await asyncio.sleep(160)
    with without_housekeeping(world):
        woken, done = await idle(world, *members, seconds=120)
    print(f"{woken:.2f} wake-ups and {done:.3f} transactions a second")
    assert woken < 2
    assert done < 0.2 * processes
    await cluster.stop()


@pytest.mark.slow
@pytest.mark.timeout(400)
async def test_a_gateway_over_sqlite_costs_next_to_nothing(world: World) -> None:
    process = await world.start()
    world.telegram.say(1, "say:hello")
    await world.answered(1)
    await asyncio.sleep(120)
    woken, _ = await idle(world, process, seconds=60)
    print(f"{woken:.2f} wake-ups a second")
    assert woken < 2
    assert await process.stop() == 0
