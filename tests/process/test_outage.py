"""An outage of Telegram that everybody feels, and how soon it is over for everybody."""

from __future__ import annotations

import time

import pytest

from tests.process.harness import World, without_repeats

CHATS = range(1, 21)


@pytest.mark.slow
@pytest.mark.parametrize("fault", [{"status": 502, "body": b"<html>"}, {"status": 500}])
async def test_after_thirty_seconds_twenty_answers_are_there_within_five(
    world: World, fault: dict[str, object]
) -> None:
    await world.start()
    world.telegram.fail("sendMessage", seconds=30, **fault)
    began = time.monotonic()
    for chat in CHATS:
        world.telegram.say(chat, f"say:answer {chat}")
    await world.telegram.until(lambda: all(world.texts(chat) for chat in CHATS), 60)
    assert 30 <= time.monotonic() - began < 35
    for chat in CHATS:
        assert without_repeats(world.texts(chat)) == [f"answer {chat}"]
