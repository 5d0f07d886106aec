"""A whole gateway on Slack whose answers grow in streams: one message, whatever breaks."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from nanobot.channels.repeats import REPEAT_LINE
from nanobot.store.journal.outbox import STOPPED_LINE
from tests.doubles.slack_rules import shown_text
from tests.doubles.slack_server import SlackServer
from tests.process.harness import World
from tests.process.platforms import slack_beside
from tests.sampling import few

WORDS = " ".join(f"word{number}" for number in range(14))
SLOW = f"pace:0.3\nsay:{WORDS}"


@pytest.fixture
async def slack(world: World) -> AsyncIterator[SlackServer]:
    async with slack_beside(world) as server:
        yield server


def said(slack: SlackServer, chat: str = "C1") -> list[str]:
    return [shown_text(message["blocks"]) for message in slack.sent(chat)]


def ended(slack: SlackServer) -> bool:
    """Whether everything that was sent is there to stay."""
    return bool(slack.sent("C1")) and not any(slack.streams.values())


async def test_an_answer_grows_in_one_message_of_its_thread(
    world: World, slack: SlackServer
) -> None:
    await world.start()
    await slack.connected()
    root = slack.say("C1", f"<@UBOT> {SLOW}", user="U1")
    await slack.until(lambda: ended(slack), 30)
    assert said(slack) == [WORDS]
    (start,) = slack.calls_of("chat.startStream")
    assert start.params["thread_ts"] == root["ts"]
    assert start.params["recipient_user_id"] == "U1"
    assert start.params["recipient_team_id"] == "T1"
    assert len(slack.calls_of("chat.appendStream")) >= 1
    (stop,) = slack.calls_of("chat.stopStream")
    assert stop.params["metadata"]["event_payload"]["key"].endswith(":0:0")
    assert slack.calls_of("chat.postMessage") == slack.calls_of("chat.update") == []
    await world.eventually(lambda: world.rows("SELECT state FROM outbound") == [("sent",)])


async def test_tools_at_work_stand_between_the_words(world: World, slack: SlackServer) -> None:
    await world.start()
    await slack.connected()
    slack.say("C1", f'<@UBOT> tool:list_dir:{{"path": "."}}\n{SLOW}')
    await slack.until(lambda: ended(slack), 30)
    (message,) = slack.sent("C1")
    kinds = [block["type"] for block in message["blocks"]]
    assert kinds == ["task_card", "markdown", "context_actions"]
    assert message["blocks"][0] | {"task_id": ""} == {
        "type": "task_card",
        "task_id": "",
        "title": "list_dir: .",
        "status": "complete",
    }
    assert said(slack) == [WORDS]


POINTS = (
    *("receipt:before", "preview:after", "finish:after", "receipt:2:before", "preview:before"),
    *("receipt:after", "finish:before", "begin_send:before", "begin_send:after", "receipt:2:after"),
)


@pytest.mark.parametrize("point", few(POINTS, 2))
async def test_killed_anywhere_the_chat_has_the_answer_once(
    world: World, slack: SlackServer, point: str
) -> None:
    crashing = await world.launch(crash_at=point)
    await slack.connected()
    slack.say("C1", f"<@UBOT> {SLOW}")
    await crashing.died()
    await world.start()
    await slack.until(lambda: ended(slack) and said(slack)[-1].startswith(WORDS), 40)
    await world.eventually(lambda: world.rows("SELECT state FROM outbound") == [("sent",)])
    assert said(slack) == [WORDS]
    assert REPEAT_LINE not in said(slack)[-1]


@pytest.mark.parametrize(
    "method", few(["chat.startStream", "chat.appendStream", "chat.stopStream"], 1)
)
@pytest.mark.parametrize("drop", ["before", "after"])
async def test_a_call_whose_fate_is_unknown_costs_no_second_message(
    world: World, slack: SlackServer, method: str, drop: Any
) -> None:
    await world.start()
    await slack.connected()
    slack.fail(method, times=1, drop=drop)
    slack.say("C1", f"<@UBOT> {SLOW}")
    await slack.until(lambda: ended(slack) and said(slack)[-1] == WORDS, 40)
    assert said(slack) == [WORDS]


async def test_where_streams_are_unknown_the_answer_is_edited_after_one_try(
    world: World, slack: SlackServer
) -> None:
    slack.unknown = frozenset({"chat.startStream"})
    await world.start()
    await slack.connected()
    slack.say("C1", f"<@UBOT> {SLOW}")
    await slack.until(lambda: said(slack) == [WORDS], 30)
    slack.say("C1", f"<@UBOT> {SLOW}")
    await slack.until(lambda: said(slack) == [WORDS, WORDS], 30)
    assert len(slack.calls_of("chat.startStream")) == 1
    assert len(slack.calls_of("chat.update")) >= 2


async def test_a_stream_that_slack_ended_is_edited_into_the_answer(
    world: World, slack: SlackServer
) -> None:
    await world.start()
    await slack.connected()
    slack.say("C1", f"<@UBOT> {SLOW}")
    await slack.until(lambda: bool(slack.calls_of("chat.appendStream")), 30)
    slack.expire(slack.sent("C1")[0])
    await slack.until(lambda: said(slack) == [WORDS], 30)


async def test_a_stopped_answer_keeps_what_was_streamed(world: World, slack: SlackServer) -> None:
    await world.start()
    await slack.connected()
    root = slack.say("C1", f"<@UBOT> {SLOW}")
    await slack.until(lambda: bool(slack.calls_of("chat.startStream")), 30)
    slack.say("C1", "/stop", thread_ts=root["ts"])
    await slack.until(lambda: ended(slack), 30)
    texts = said(slack)
    assert texts[0].startswith("word0")
    assert STOPPED_LINE in texts[0]
    assert len(slack.calls_of("chat.stopStream")) == 1


async def test_a_stop_after_the_answer_and_a_second_press_change_nothing_of_it(
    world: World, slack: SlackServer
) -> None:
    await world.start()
    await slack.connected()
    root = slack.say("C1", f"<@UBOT> {SLOW}")
    await slack.until(lambda: ended(slack), 30)
    (answer,) = slack.sent("C1")
    stopped = {"type": "agent_session_stopped", "channel": "C1", "user": "U1"}
    slack.event(stopped | {"thread_ts": root["ts"], "event_ts": slack.timestamp()})
    await slack.until(lambda: bool(slack.sent("C1")[1:]))
    assert said(slack)[1].startswith("Nothing")
    for verdict in ("positive", "negative", "negative"):
        slack.judge("C1", answer, verdict)
    await slack.until(lambda: len(slack.ephemeral) == 3)
    assert {message["user"] for message in slack.ephemeral} == {"U1"}
    assert said(slack)[0] == WORDS
    assert len(slack.sent("C1")) == 2
    verdicts = [
        json.loads(payload)["verdict"]
        for (payload,) in world.rows("SELECT payload FROM entries WHERE kind = 'feedback'")
    ]
    assert verdicts == ["up", "down"]
    open_ones = "SELECT 1 FROM outbound WHERE state != 'sent'"
    await world.eventually(lambda: not world.rows(open_ones))
    world.verify()


async def test_the_thumbs_of_a_private_answer_are_answered_by_nothing(
    world: World, slack: SlackServer
) -> None:
    await world.start()
    await slack.connected()
    slack.say("D1", "say:once")
    answer = await slack.reply_in("D1")
    slack.judge("D1", answer, "positive")
    await world.eventually(
        lambda: bool(world.rows("SELECT 1 FROM entries WHERE kind = 'feedback'"))
    )
    slack.say("D1", "say:next")
    await slack.until(lambda: said(slack, "D1")[-1] == "next")
    assert said(slack, "D1") == ["once", "next"]
    assert slack.ephemeral == []
