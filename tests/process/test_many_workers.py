"""Several workers over one PostgreSQL under load, while something breaks: every message is answered
once, in order, and what a call does is done once."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.process.harness import World
from tests.process.own_server import OwnServer
from tests.process.sharing import Cluster, call, frozen
from tests.store.proxy import Proxy, proxied

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

CHATS, ROUNDS = range(1, 9), 6
PATIENCE = 90.0


class Load:
    """Messages into some chats; every third has something done first."""

    def __init__(self, cluster: Cluster) -> None:
        self.world = cluster.world
        self._rng = random.Random(19)

    async def run(self, rounds: int = ROUNDS) -> None:
        """In each chat one message after the other is answered: by its name, once, in order."""
        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
            for chat in CHATS:
                tasks.create_task(self._talk(chat, rounds))
        for chat in CHATS:
            assert self.world.texts(chat) == [f"{chat}-{number}" for number in range(rounds)]

    async def _talk(self, chat: int, rounds: int) -> None:
        for number in range(rounds):
            self.world.telegram.say(chat, self._asking(chat, number))
            while len(self.world.texts(chat)) <= number:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.05)

    def _asking(self, chat: int, number: int) -> str:
        name = f"{chat}-{number}"
        wait = f"wait:{self._rng.choice((0.0, 0.05, 0.3))}\n"
        if (chat + number) % 3:
            return f"{wait}say:{name}"
        return f"{wait}{call('exec', command=f'echo {name} >> effects')}\nsay:{name}"

    def check_effects(self, rounds: int = ROUNDS, *, unknown: bool = False) -> None:
        """`unknown`: a worker died, and what it had begun is left to the model."""
        done = (self.world.workspace / "effects").read_text().split()
        due = {f"{c}-{n}" for c in CHATS for n in range(rounds) if not (c + n) % 3}
        assert len(done) == len(set(done))
        assert set(done) == due if not unknown else set(done) <= due


async def test_workers_are_killed_under_load(cluster: Cluster) -> None:
    load, world = Load(cluster), cluster.world
    workers = [await cluster.start("worker") for _ in range(3)]
    await cluster.start("channels")
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(load.run())
        for worker in workers[:2]:
            await world.asked(len(world.model.requests) + 5)
            await worker.kill()
            await cluster.start("worker")
    load.check_effects(unknown=True)
    await cluster.stop()
    world.verify()


async def test_a_worker_that_slept_past_its_lease_writes_nothing(cluster: Cluster) -> None:
    load, world = Load(cluster), cluster.world
    workers = [await cluster.start("worker") for _ in range(3)]
    await cluster.start("channels")
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(load.run())
        await world.asked(10)
        async with frozen(workers[0]):
            await running
    world.telegram.say(1, "say:after it woke")
    await world.telegram.until(lambda: world.texts(1)[-1] == "after it woke")
    load.check_effects(unknown=True)
    assert workers[0].running
    await cluster.stop()
    world.verify()
    assert world.rows("SELECT count(*) FROM runs") == [(len(CHATS) * ROUNDS + 1,)]


async def test_the_channels_process_is_killed_and_another_serves_the_chats(
    cluster: Cluster,
) -> None:
    load, world = Load(cluster), cluster.world
    await cluster.start("worker")
    channels = await cluster.start("channels")
    await cluster.start("channels")
    await load.run(2)
    await channels.kill()
    world.telegram.say(1, "say:anybody there")
    await world.telegram.until(lambda: world.texts(1)[-1] == "anybody there", PATIENCE)
    await cluster.stop()
    world.verify()


async def test_the_server_is_restarted_under_load(world: World, own_server: OwnServer) -> None:
    world.database_url = own_server.url
    cluster = Cluster(world)
    cluster.configure()
    load = Load(cluster)
    for roles in (("worker",), ("worker",), ("channels",)):
        await cluster.start(*roles)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(load.run())
        await world.asked(8)
        await own_server.restart(3.0)
    load.check_effects(unknown=True)
    await cluster.stop()
    world.verify()


@asynccontextmanager
async def behind_a_proxy(cluster: Cluster) -> AsyncIterator[Proxy]:
    """What is started within reaches the database through the proxy."""
    direct = cluster.world.database_url
    async with proxied(direct) as (proxy, url):
        cluster.world.database_url = url
        cluster.configure()
        cluster.world.database_url = direct
        yield proxy
        await cluster.stop()


async def test_connections_are_cut_under_load(cluster: Cluster) -> None:
    load, world = Load(cluster), cluster.world
    async with behind_a_proxy(cluster) as proxy:
        for roles in (("worker",), ("worker",), ("worker",), ("channels",)):
            await cluster.start(*roles)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(load.run())
            for _ in range(4):
                await world.asked(len(world.model.requests) + 5)
                proxy.cut()
        load.check_effects(unknown=True)
    world.verify()
