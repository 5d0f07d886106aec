"""Slack's assistant: suggested prompts, titles, a status; nothing where the app has none of it."""

from __future__ import annotations

import pytest

from nanobot.errors import ConfigError
from nanobot.messages import Address
from nanobot_channels.slack import open_channel
from tests.doubles.slack_bench import Bench, bench

THREAD = "1729999327.187299"
STARTED = {
    "type": "assistant_thread_started",
    "assistant_thread": {"user_id": "U1", "channel_id": "D1", "thread_ts": THREAD},
}
TOKENS = {"bot_token": "xoxb-1", "app_token": "xapp-1"}


async def test_an_opened_pane_suggests_what_to_ask() -> None:
    async with bench(prompts=("What now?",)) as b, b.running():
        b.slack.event(STARTED)
        b.slack.event({"type": "app_home_opened", "tab": "home", "channel": "D1"})
        b.slack.event({"type": "app_home_opened", "tab": "messages", "channel": "D1"})
        await b.slack.until(lambda: len(b.slack.prompts) == 2)
        prompts = [{"title": "What now?", "message": "What now?"}]
        assert b.slack.prompts == [
            {"channel_id": "D1", "thread_ts": THREAD, "prompts": prompts},
            {"channel_id": "D1", "prompts": prompts},
        ]
        assert b.intake.messages == []


async def test_the_first_message_names_its_thread(receiver: Bench) -> None:
    root = receiver.slack.say("D1", "New chat", user="UBOT", quiet=True)
    receiver.slack.say("D1", "Plan  my\nholidays", thread_ts=root["ts"])
    await receiver.slack.until(lambda: bool(receiver.slack.titles))
    receiver.slack.say("D1", "And hers", thread_ts=root["ts"])
    await receiver.intake.received(2)
    named = {"channel_id": "D1", "thread_ts": root["ts"], "title": "Plan my holidays"}
    assert receiver.slack.titles == [named]


async def test_a_refusal_costs_one_try_a_chat_and_no_message(receiver: Bench) -> None:
    method = "assistant.threads.setSuggestedPrompts"
    receiver.slack.unknown = frozenset({method, "assistant.threads.setTitle"})
    receiver.slack.event(STARTED)
    receiver.slack.event(STARTED)
    receiver.slack.event({"type": "assistant_thread_started", "assistant_thread": 7})
    receiver.slack.say("D1", "hello")
    await receiver.intake.received(1)
    await receiver.slack.settled()
    assert len(receiver.slack.calls_of(method)) == 1


async def test_a_status_says_what_is_being_done_until_it_is_refused(receiver: Bench) -> None:
    address = Address("slack", "D1", THREAD)
    await receiver.channel.typing(address)
    await receiver.channel.tell(address, "exec: ls")
    assert [status["status"] for status in receiver.slack.statuses] == [
        "is thinking...",
        "is at work: exec: ls",
    ]
    assert receiver.slack.statuses[1]["loading_messages"] == ["exec: ls"]
    receiver.slack.unknown = frozenset({"assistant.threads.setStatus"})
    for _ in range(2):
        await receiver.channel.typing(address)
    assert len(receiver.slack.calls_of("assistant.threads.setStatus")) == 3


@pytest.mark.parametrize("prompts", ["one", ["a"] * 5, [""], [7], None])
def test_prompts_that_cannot_be_are_refused(prompts: object) -> None:
    with pytest.raises(ConfigError, match="at most 4"):
        open_channel("slack", TOKENS | {"prompts": prompts})


def test_link_previews_are_true_or_false() -> None:
    with pytest.raises(ConfigError, match="true or false"):
        open_channel("slack", TOKENS | {"link_previews": "no"})
    open_channel("slack", TOKENS | {"link_previews": True, "prompts": []})
