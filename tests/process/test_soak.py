"""One gateway, three platforms, sixty chats: whatever goes wrong, each message is answered, once,
in order."""

from __future__ import annotations

from contextlib import AsyncExitStack
from importlib.metadata import entry_points
from random import Random

import pytest

from tests.doubles.discord_server import DiscordServer
from tests.process.harness import World
from tests.process.platforms import DenseSlack, OnDiscord, OnSlack, OnTelegram
from tests.process.soaking import Soak

_FOUND = {one.name for one in entry_points(group="nanobot.channels")}
# A checkout that was installed before there were these channels has to be installed anew.
pytestmark = pytest.mark.skipif(
    not {"telegram", "discord", "slack"} <= _FOUND, reason="not installed with every channel"
)


async def soak(world: World, seed: int, *, chats: int, each: int, small: int) -> Soak:
    messages = 3 * chats * each
    async with AsyncExitStack() as stack:
        discord = await stack.enter_async_context(DiscordServer())
        slack = await stack.enter_async_context(DenseSlack())
        rng = Random(f"{seed} platforms")
        platforms = [
            OnTelegram(world.telegram, rng, chats),
            OnDiscord(discord, rng, chats),
            OnSlack(slack, rng, chats),
        ]
        tables = "".join(platform.table() for platform in platforms)
        world.configure(agent="max_history = 40", more=tables)
        made = Soak(world, platforms, seed, each=each)
        print(f"seed {seed}, {messages} messages")
        await made.run(kills=max(messages // 1_300, 1), small=small, large=max(each * 3, 50))
        print(f"went wrong: {dict(made.happened)}")
    return made


async def test_nothing_is_lost_doubled_or_out_of_order_whatever_breaks(world: World) -> None:
    made = await soak(world, seed=1, chats=20, each=5, small=10)
    assert made.happened["kill -9"] == 1
    assert sum(made.happened.values()) >= 25


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_ten_thousand_messages_survive_whatever_breaks(world: World) -> None:
    made = await soak(world, seed=Random().randrange(1_000_000), chats=20, each=167, small=15)
    assert made.happened["kill -9"] == 7
    assert sum(made.happened.values()) > 600
