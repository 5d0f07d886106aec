"""Several whole gateways over one PostgreSQL share one bot: one of them receives, each answers in
chats of its own, and whichever is killed, its chats go on with another."""

from __future__ import annotations

import asyncio
import random

import pytest

from nanobot.channels.repeats import REPEAT_LINE
from tests.process.harness import Nanobot, World, without_repeats
from tests.process.sharing import Cluster, frozen

PATIENCE = 120.0


def speakers(world: World) -> set[str]:
    """The processes that have spoken to chats lately."""
    query = "SELECT DISTINCT owner FROM channel_leases WHERE starts_with(channel, '(chat)')"
    return {str(owner) for (owner,) in world.rows(query)}


async def both_speak(world: World) -> None:
    """Wait until a process that has just started is given chats too."""
    async with asyncio.timeout(PATIENCE):
        for chat in range(50, 100):
            world.telegram.say(chat, "say:hello")
            await world.answered(chat)
            if len(speakers(world)) == 2:
                return
    raise AssertionError("one process speaks in fifty chats")


class Talks:
    """Chats that each say the next thing once they were answered; some answers take a while, so
    that they are shown while they are made."""

    def __init__(self, world: World, chats: int, seed: int) -> None:
        self.answered = dict.fromkeys(range(1, chats + 1), 0)
        self._world = world
        self._chats = range(1, chats + 1)
        self._rng = random.Random(seed)

    async def run(self, rounds: int) -> None:
        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
            for chat in self._chats:
                tasks.create_task(self._talk(chat, rounds))

    async def _talk(self, chat: int, rounds: int) -> None:
        for number in range(rounds):
            pace = self._rng.choice((0.0, 0.0, 0.05, 0.4))
            self._world.telegram.say(chat, f"pace:{pace}\nsay:{chat}-{number} one two three four")
            while len(self._told(chat)) <= number:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.05)
            self.answered[chat] += 1
        self.answered[chat] = 1_000_000  # nothing more is waited for

    async def move_on(self) -> None:
        """Each chat has another answer: a run that sees three kills in a row is given up."""
        before = dict(self.answered)
        async with asyncio.timeout(PATIENCE):
            while any(self.answered[chat] == before[chat] < 1_000 for chat in self._chats):  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.02)

    def _told(self, chat: int) -> list[str]:
        return without_repeats(self._world.texts(chat))

    def check(self, rounds: int) -> int:
        """Each was answered, in order, and what came twice says so; returns how many did."""
        repeats = 0
        for chat in self._chats:
            texts = self._world.texts(chat)
            wanted = [f"{chat}-{number} one two three four" for number in range(rounds)]
            assert self._told(chat) == wanted
            marked = [text for text in texts if REPEAT_LINE in text]
            assert len(texts) <= len(wanted) + len(marked)
            repeats += len(marked)
        return repeats


@pytest.fixture
def cluster(cluster: Cluster) -> Cluster:
    """The model is scripted by what people say alone."""
    cluster.configure(agent='remember = "off"\nrecall = "off"')
    return cluster


async def killing(
    cluster: Cluster, members: list[Nanobot], talks: Talks, kills: int, rng: random.Random
) -> None:
    """Kill one of them at random moments, and start another in its place."""
    for _ in range(kills):
        await talks.move_on()
        await asyncio.sleep(rng.random())
        victim = members.pop(rng.randrange(len(members)))
        await victim.kill()
        members.append(await cluster.start())


async def test_two_gateways_share_a_bot_and_one_is_killed(cluster: Cluster) -> None:
    """A short part of the random kills below."""
    world = cluster.world
    members = [await cluster.start(), await cluster.start()]
    await both_speak(world)
    talks = Talks(world, chats=6, seed=1)
    await talks.run(2)
    assert talks.check(2) == 0
    await world.delivered()
    await members[0].kill()  # it received
    world.telegram.say(1, "say:anybody there")
    await world.telegram.until(lambda: world.texts(1)[-1] == "anybody there", PATIENCE)
    await world.delivered()
    await cluster.stop()
    world.verify()


async def test_a_run_that_another_gateway_shows_is_stopped(cluster: Cluster) -> None:
    """What stood in the chats as drafts is kept, whichever process showed it."""
    world = cluster.world
    await cluster.start()
    await cluster.start()
    await both_speak(world)
    drafts, chats = world.telegram.native.drafts, range(1, 7)
    for chat in chats:
        world.telegram.say(chat, "pace:0.5\nsay:one two three four five six seven eight nine ten")

    def grows(chat: int) -> bool:
        found = drafts.get(chat, [])
        return any("two" in version for draft in found for version in draft.versions)

    await world.telegram.until(lambda: all(grows(chat) for chat in chats))
    for chat in chats:
        world.telegram.say(chat, "/stop")
    await world.telegram.until(
        lambda: all(any("[stopped]" in text for text in world.texts(chat)) for chat in chats)
    )
    assert all("two" in world.texts(chat)[0] for chat in chats)
    assert all(len(draft.versions) < 12 for chat in chats for draft in drafts[chat])
    await cluster.stop()
    world.verify()


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize("processes", [2, 3, 4])
async def test_random_kills_lose_and_double_nothing(cluster: Cluster, processes: int) -> None:
    world, seed = cluster.world, random.randrange(1_000_000)
    print(f"seed {seed}")
    members = [await cluster.start() for _ in range(processes)]
    talks, rounds = Talks(world, chats=10, seed=seed), 12
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(talks.run(rounds))
        await killing(cluster, members, talks, 6, random.Random(seed))
    print(f"{talks.check(rounds)} marked repeats")
    await cluster.stop()
    world.verify()


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_a_gateway_that_slept_past_its_leases_says_nothing(cluster: Cluster) -> None:
    world = cluster.world
    members = [await cluster.start() for _ in range(3)]
    talks, rounds = Talks(world, chats=8, seed=2), 6
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(talks.run(rounds))
        for member in members[:2]:
            await asyncio.sleep(1.0)
            async with frozen(member):
                await asyncio.sleep(16.0)
    talks.check(rounds)
    assert all(member.running for member in members)
    await cluster.stop()
    world.verify()
