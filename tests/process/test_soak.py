"""One gateway, five platforms, services and a clock: whatever goes wrong, each message is answered
and each thing that was due is done, once, in order."""

from __future__ import annotations

from contextlib import AsyncExitStack
from importlib.metadata import entry_points
from random import Random
from typing import NamedTuple

import pytest

from tests.doubles.mail_server import MailServer
from tests.doubles.matrix_server import MatrixServer
from tests.process.harness import World
from tests.process.platforms import DenseSlack, LiveDiscord, OnDiscord, OnSlack, OnTelegram
from tests.process.slow_platforms import OnMail, OnMatrix
from tests.process.soaking import Soak
from tests.process.unasked import OnHooks

_FOUND = {entry.name for entry in entry_points(group="nanobot.channels")}
# A checkout that was installed before there were these channels has to be installed anew.
pytestmark = pytest.mark.skipif(
    not {"telegram", "discord", "slack", "matrix", "email"} <= _FOUND,
    reason="not installed with every channel",
)


class Size(NamedTuple):
    """How many chats on each of the three, on each of the two, and how many services; how many
    messages `each` of the first has; jobs done `once`; a small trouble every so many."""

    chats: int
    fewer: int
    hooks: int
    each: int
    once: int
    small: int


async def soak(world: World, seed: int, size: Size) -> Soak:
    async with AsyncExitStack() as stack:
        discord = await stack.enter_async_context(LiveDiscord())
        slack = await stack.enter_async_context(DenseSlack())
        matrix = await stack.enter_async_context(MatrixServer())
        mail = await stack.enter_async_context(MailServer())
        rng = Random(f"{seed} platforms")
        platforms = [
            OnTelegram(world.telegram, rng, size.chats),
            OnDiscord(discord, rng, size.chats),
            OnSlack(slack, rng, size.chats),
            OnMatrix(matrix, rng, size.fewer),
            OnMail(mail, rng, size.fewer),
            OnHooks(world.telegram, rng, size.hooks),
        ]
        tables = "".join(platform.table() for platform in platforms)
        tables += "[budgets]\ntokens_per_day = 0\ncost_per_day = 0\n"  # so much is said here
        world.configure(agent="max_history = 40", more=tables)
        soaked = Soak(world, platforms, seed, each=size.each, once=size.once)
        print(f"seed {seed}, {soaked.messages} messages")
        kills = max(3 * size.chats * size.each // 1_300, 1)
        await soaked.run(kills=kills, small=size.small, large=max(size.each * 3, 50))
        print(f"went wrong: {dict(soaked.happened)}, by the clock: {soaked.clockwork.counts}")
    return soaked


@pytest.mark.timeout(300)  # longer than a message may go unanswered, which says which one it was
async def test_nothing_is_lost_doubled_or_out_of_order_whatever_breaks(world: World) -> None:
    size = Size(chats=20, fewer=6, hooks=2, each=5, once=6, small=10)
    soaked = await soak(world, seed=1, size=size)
    assert soaked.happened["kill -9"] == 1
    assert sum(soaked.happened.values()) >= 25
    assert soaked.clockwork.counts["done"] >= size.once


@pytest.mark.slow
@pytest.mark.timeout(1200)
async def test_ten_thousand_messages_survive_whatever_breaks(world: World) -> None:
    size = Size(chats=20, fewer=10, hooks=4, each=167, once=40, small=15)
    soaked = await soak(world, seed=Random().randrange(1_000_000), size=size)
    assert soaked.happened["kill -9"] == 7
    assert sum(soaked.happened.values()) > 600
    assert soaked.clockwork.counts["done"] > size.once
