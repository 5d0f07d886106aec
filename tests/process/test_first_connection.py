"""A gateway answers its first connection and its first message, with every promised Python."""

from __future__ import annotations

import aiohttp

from tests.process.harness import World
from tests.process.test_webhooks import door


async def test_the_first_connection_and_the_first_message_are_answered(world: World) -> None:
    """Python 3.11.2 lost the first: `python -m tests.pythons` runs this with it, where it is."""
    world.configure(more="[web]\nport = 0\n")
    gateway = await world.launch()
    url = door(await gateway.ready())
    timeout = aiohttp.ClientTimeout(total=20)
    async with (
        aiohttp.ClientSession(timeout=timeout) as client,
        client.get(f"{url}/healthz") as answer,
    ):
        assert answer.status == 200
    world.telegram.say(1, "say:hello")
    assert await world.answered(1) == ["hello"]
    assert await gateway.stop() == 0
