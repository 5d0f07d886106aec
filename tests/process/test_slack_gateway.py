"""A whole gateway on Slack: answers in threads, once, whatever breaks on the way."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator
from importlib.metadata import entry_points

import pytest

from tests.doubles.slack_rules import Room, shown_text
from tests.doubles.slack_server import SlackServer
from tests.process.harness import LATE_EDIT, Nanobot, World
from tests.process.platforms import slack_beside

# A checkout that was installed before there was this channel has to be installed anew.
pytestmark = pytest.mark.skipif(
    not entry_points(group="nanobot.channels", name="slack"), reason="not installed with Slack"
)


@pytest.fixture
async def slack(world: World) -> AsyncIterator[SlackServer]:
    async with slack_beside(world) as server:
        yield server


def said(slack: SlackServer, chat: str) -> list[str]:
    return [shown_text(message["blocks"]) for message in slack.sent(chat)]


async def test_a_mention_is_answered_in_its_thread_and_the_thread_goes_on(
    world: World, slack: SlackServer
) -> None:
    await world.start()
    await slack.connected()
    slack.say("D1", "say:in private")
    root = slack.say("C1", "<@UBOT> say:in public")
    await slack.until(lambda: said(slack, "C1") == ["in public"] and len(slack.sent("D1")) == 1)
    slack.say("C1", "say:and on", thread_ts=root["ts"])
    await slack.until(lambda: said(slack, "C1") == ["in public", "and on"])
    assert said(slack, "D1") == ["in private"]
    assert {message["thread_ts"] for message in slack.sent("C1")} == {root["ts"]}
    assert "thread_ts" not in slack.sent("D1")[0]


async def test_an_answer_whose_fate_is_unknown_is_found_and_not_repeated(
    world: World, slack: SlackServer
) -> None:
    await world.start()
    await slack.connected()
    slack.fail("chat.postMessage", times=1, drop="after")
    slack.say("D1", "say:once")
    await slack.until(lambda: bool(slack.calls_of("conversations.history")))
    slack.say("D1", "say:next")
    await slack.until(lambda: len(slack.sent("D1")) >= 2)
    assert said(slack, "D1") == ["once", "next"]


async def test_what_was_said_while_the_gateway_was_dead_is_answered_once_and_in_order(
    world: World, slack: SlackServer, gateway: Nanobot
) -> None:
    await slack.connected()
    slack.say("D1", "say:zero")
    await slack.until(lambda: said(slack, "D1") == ["zero"])
    await gateway.kill()
    await slack.until(lambda: slack.connections == 0)
    slack.say("D1", "say:one")
    slack.give_up()
    slack.say("D1", "say:two", quiet=True)
    slack.say("D1", "say:three")
    await world.start()
    await slack.until(lambda: said(slack, "D1")[-1] == "three")
    await slack.settled()
    # What came together may be one run: the model saw everything, in order, once.
    heard = [
        line
        for message in world.model.requests[-1]["messages"]
        if message["role"] == "user"
        for line in re.findall(r"say:\w+", str(message["content"]))
    ]
    assert heard == ["say:zero", "say:one", "say:two", "say:three"]
    assert len(said(slack, "D1")) == len(set(said(slack, "D1")))


async def test_who_edits_a_message_after_its_answer_hears_that_it_was_too_late(
    world: World, slack: SlackServer
) -> None:
    await world.start()
    await slack.connected()
    message = slack.say("D1", "say:one")
    await slack.until(lambda: said(slack, "D1") == ["one"])
    slack.edit("D1", message, "say:two")
    await slack.until(lambda: said(slack, "D1") == ["one", LATE_EDIT])
    assert "say:two" not in str(world.model.requests)


@pytest.mark.slow
async def test_answers_come_before_previews_where_edits_are_limited(
    world: World, slack: SlackServer
) -> None:
    """Twenty answers of twelve seconds each, with Slack's limit of 50 edits a minute for a
    workspace: previews would need some ninety."""
    rooms = [f"D{number}" for number in range(1, 21)]
    slack.rooms |= {room: Room() for room in rooms}
    slack.limits["chat.update"] = 50
    answer = " ".join(f"word{number}" for number in range(20))
    await world.start()
    await slack.connected()
    for room in rooms:
        slack.say(room, f"pace:0.6\nsay:{answer}")
    began = time.monotonic()
    await slack.until(lambda: all(said(slack, room) == [answer] for room in rooms), 60)
    assert time.monotonic() - began < 16
    updates = slack.calls_of("chat.update")
    assert [call for call in updates if call.status == 429] == []
    assert len(updates) > len(rooms), "previews were shown"
