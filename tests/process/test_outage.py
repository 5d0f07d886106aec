"""An outage of Telegram that everybody feels, and how soon it is over for everybody."""

from __future__ import annotations

import time

import pytest

from nanobot.channels.repeats import REPEAT_LINE
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


async def test_answers_made_while_nothing_gets_through_are_not_said_to_be_repeats(
    world: World,
) -> None:
    """Only the send that finds the outage out is in doubt. That the others would fail is learnt
    from getMe, so none of them is tried."""
    await world.start()
    for chat in CHATS:
        world.telegram.say(chat, f"wait:{1 + chat / 10}\nsay:answer {chat}")
    await world.asked(len(CHATS))
    world.telegram.fail(seconds=6, status=502, body=b"<html>")
    await world.telegram.until(lambda: all(world.texts(chat) for chat in CHATS), 30)
    texts = [text for chat in CHATS for text in world.texts(chat)]
    assert sum(REPEAT_LINE in text for text in texts) <= 3
    for chat in CHATS:
        assert without_repeats(world.texts(chat)) == [f"answer {chat}"]
