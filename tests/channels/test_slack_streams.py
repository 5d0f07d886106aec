"""Streams on Slack: deltas only, within its limits, and an edit where no more can be appended."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from nanobot.errors import ChatGone, NotSent, OutcomeUnknown, Refused, Uncertain
from nanobot.messages import PREVIEW, Address, OutboundMessage, Step
from nanobot.ports import OutboundPart, Streaming
from nanobot_channels.slack.parts import render
from nanobot_channels.slack.streams import APPENDS_A_MINUTE, STARTS_A_MINUTE
from tests.doubles.slack_bench import Bench, bench
from tests.doubles.slack_rules import KNOWN_BLOCKS, Params, shown_text

EVER = 0.0


def part(text: str, key: str = "run:0") -> OutboundPart:
    message = OutboundMessage(address=Address("slack", "C1"), text=text, key=key)
    return msgspec.structs.replace(render(message)[0], key=key)


async def begun(b: Bench, *steps: Step, chat: str = "C1") -> tuple[Address, str]:
    """A stream that answers somebody."""
    before = len(b.intake.messages)
    root = b.slack.say(chat, "<@UBOT> hello")
    await b.intake.received(before + 1)
    address = Address("slack", chat, root["ts"])
    first = part("Some words", f"run:0{PREVIEW}")
    return address, await b.channel.start(address, first, steps or (Step("Some"),), root["ts"])


def message(b: Bench, chat: str = "C1") -> Params:
    return b.slack.sent(chat)[-1]


def shown(b: Bench, chat: str = "C1") -> str:
    return shown_text(message(b, chat)["blocks"])


async def test_only_what_is_new_is_appended_and_the_rest_comes_with_the_end() -> None:
    async with bench() as b, b.running():
        assert isinstance(b.channel, Streaming)
        address, ts = await begun(b)
        await b.channel.grow(address, ts, [Step("Some words,")])
        await b.channel.grow(address, ts, [Step("Some words,")])
        await b.channel.edit(address, ts, part("Some words, and **more**."))
        chunks = [
            chunk["text"]
            for method in ("startStream", "appendStream", "stopStream")
            for call in b.slack.calls_of(f"chat.{method}")
            for chunk in call.params["chunks"]
        ]
        assert chunks == ["Some", " words,", " and **more**."]
        assert message(b)["metadata"]["event_payload"] == {"key": "run:0"}
        assert shown(b) == "Some words, and **more**."
        assert b.slack.streams == {ts: False}


async def test_a_mention_can_begin_at_no_end_of_what_is_appended(receiver: Bench) -> None:
    address, ts = await begun(receiver, Step("hello <"))
    await receiver.channel.grow(address, ts, [Step("hello <@U1")])
    await receiver.channel.edit(address, ts, part("hello <@U1> and <"))
    texts = [block["text"] for block in message(receiver)["blocks"]]
    assert texts == ["hello &lt;@U1> and <"]


async def test_a_tool_is_a_task_between_words_and_over_when_the_answer_is_there() -> None:
    async with bench() as b, b.running():
        address, ts = await begun(b, Step("I look"))
        await b.channel.grow(address, ts, [Step("I look."), Step(tool="exec: ls")])
        tasks = [block for block in message(b)["blocks"] if block["type"] == "task_card"]
        assert [(task["title"], task["status"]) for task in tasks] == [("exec: ls", "in_progress")]
        steps = [Step("I look."), Step(tool="exec: ls", done=True), Step("There")]
        await b.channel.grow(address, ts, steps)
        await b.channel.edit(address, ts, part("There is one."))
        kinds = [block["type"] for block in message(b)["blocks"]]
        assert kinds == ["markdown", "task_card", "markdown"]
        assert message(b)["blocks"][1]["status"] == "complete"
        assert shown(b) == "I look.\nThere is one."
        assert b.slack.calls_of("chat.update") == []


@pytest.mark.parametrize(
    "steps",
    [[Step("Other words")], [Step(tool="exec")], []],
    ids=["other words", "another kind", "less"],
)
async def test_what_does_not_go_on_as_it_began_is_edited(steps: list[Step]) -> None:
    async with bench() as b, b.running():
        address, ts = await begun(b)
        with pytest.raises(Refused):
            await b.channel.grow(address, ts, steps)
        await b.channel.edit(address, ts, part("Other words, after all."))
        assert shown(b) == "Other words, after all."
        assert message(b)["metadata"]["event_payload"] == {"key": "run:0"}


@pytest.mark.parametrize("ended", ["by Slack", "by a person", "by nobody: another process"])
async def test_a_stream_that_is_over_is_edited_into_the_answer(ended: str, receiver: Bench) -> None:
    address, ts = await begun(receiver)
    channel = receiver.channel
    if ended.startswith("by nobody"):
        channel = receiver.another()
    elif ended == "by a person":
        receiver.slack.fail("chat.appendStream", times=1, error="stopped_by_user")
        receiver.slack.expire(message(receiver))
    else:
        receiver.slack.expire(message(receiver))
    with pytest.raises(Refused):
        await channel.grow(address, ts, [Step("Some words, and more")])
    await channel.edit(address, ts, part("Some words, and more."))
    assert shown(receiver) == "Some words, and more."
    assert len(receiver.slack.sent("C1")) == 1
    if channel is not receiver.channel:
        await channel.close()


async def test_what_a_stream_may_have_taken_is_not_appended_again(receiver: Bench) -> None:
    address, ts = await begun(receiver)
    receiver.slack.fail("chat.appendStream", times=1, drop="after")
    with pytest.raises(OutcomeUnknown):
        await receiver.channel.grow(address, ts, [Step("Some words")])
    with pytest.raises(Refused):
        await receiver.channel.grow(address, ts, [Step("Some words, and")])
    await receiver.channel.edit(address, ts, part("Some words, and more."))
    assert shown(receiver) == "Some words, and more."


@pytest.mark.parametrize("drop", ["before", "after"])
async def test_an_end_whose_fate_is_unknown_may_be_done_again(drop: Any, receiver: Bench) -> None:
    address, ts = await begun(receiver)
    receiver.slack.fail("chat.stopStream", times=1, drop=drop)
    with pytest.raises(OutcomeUnknown):
        await receiver.channel.edit(address, ts, part("Some words."))
    await receiver.channel.edit(address, ts, part("Some words."))
    assert shown(receiver) == "Some words."


@pytest.mark.parametrize(
    "error", ["unknown_method", "missing_scope", "channel_type_not_supported", "not_allowed"]
)
async def test_where_streams_are_refused_that_costs_one_try_a_chat(error: str) -> None:
    async with bench() as b, b.running():
        b.slack.fail("chat.startStream", times=1, error=error)
        with pytest.raises(Refused):
            await begun(b)
        address = b.intake.messages[-1].address
        assert not b.channel.streams(address)
        assert b.channel.streams(Address("slack", "G1", "1.1"))


async def test_a_proxy_that_knows_no_such_page_is_a_refusal_too(receiver: Bench) -> None:
    receiver.slack.fail(
        "chat.startStream", times=1, status=404, body=b"?", content_type="text/plain"
    )
    with pytest.raises(Refused):
        await begun(receiver)
    assert not receiver.channel.streams(receiver.intake.messages[-1].address)


async def test_a_chat_that_is_gone_is_gone_for_streams_too(receiver: Bench) -> None:
    receiver.slack.fail("chat.startStream", times=1, error="is_archived")
    with pytest.raises(ChatGone):
        await begun(receiver)


async def test_streams_are_for_threads_and_in_channels_for_somebody(receiver: Bench) -> None:
    assert not receiver.channel.streams(Address("slack", "D1"))
    root = receiver.slack.say("C1", "not for the bot")
    address = Address("slack", "C1", root["ts"])
    assert receiver.channel.streams(address)
    with pytest.raises(Refused):
        await receiver.channel.start(address, part("x"), [Step("x")], None)
    root = receiver.slack.say("D1", "hello", quiet=True)
    private = Address("slack", "D1", root["ts"])
    assert await receiver.channel.start(private, part("x"), [Step("x")], None)


@pytest.mark.parametrize(("team", "meant"), [("T9", "T9"), (7, "T1"), (None, "T1"), ({}, "T1")])
async def test_the_team_of_who_asked_is_told_or_the_bots_own(team: object, meant: str) -> None:
    async with bench() as b, b.running():
        root = b.slack.say("C1", "<@UBOT> hello", team=team)
        address = (await b.intake.received(1))[0].address
        await b.channel.start(address, part("x"), [Step("x")], root["ts"])
        (start,) = b.slack.calls_of("chat.startStream")
        assert start.params["recipient_team_id"] == meant


async def test_too_many_starts_and_appends_are_not_even_tried(receiver: Bench) -> None:
    address, ts = await begun(receiver, Step("0"))
    for number in range(1, APPENDS_A_MINUTE + 1):
        await receiver.channel.grow(address, ts, [Step("0" * (number + 1))])
    with pytest.raises(NotSent):
        await receiver.channel.grow(address, ts, [Step("0" * 1000)])
    assert len(receiver.slack.calls_of("chat.appendStream")) == APPENDS_A_MINUTE
    for _ in range(STARTS_A_MINUTE - 1):
        await begun(receiver)
    assert not receiver.channel.streams(address)
    receiver.clock.advance(61)
    assert receiver.channel.streams(address)
    await receiver.channel.grow(address, ts, [Step("0" * 1000)])


async def test_a_rate_limit_of_streams_is_none_of_answers(receiver: Bench) -> None:
    address, ts = await begun(receiver)
    limited: dict[str, Any] = {"error": "ratelimited", "status": 429, "retry_after": 30}
    receiver.slack.fail("chat.appendStream", times=1, **limited)
    with pytest.raises(NotSent) as raised:
        await receiver.channel.grow(address, ts, [Step("Some words")])
    assert raised.value.retry_after is None
    receiver.clock.advance(31)
    await receiver.channel.grow(address, ts, [Step("Some words")])
    receiver.slack.fail("chat.startStream", times=1, **limited)
    with pytest.raises(Refused):
        await begun(receiver)
    assert not receiver.channel.streams(address)
    receiver.clock.advance(31)
    assert receiver.channel.streams(address)
    receiver.slack.fail("chat.stopStream", times=1, **limited)
    with pytest.raises(NotSent) as raised:
        await receiver.channel.edit(address, ts, part("Some words."))
    assert raised.value.retry_after == 30
    receiver.clock.advance(30)
    await receiver.channel.edit(address, ts, part("Some words."))
    assert receiver.slack.calls_of("chat.update") == []


async def test_a_stream_ends_at_the_limit_of_a_message(receiver: Bench) -> None:
    address, ts = await begun(receiver)
    with pytest.raises(Refused):
        await receiver.channel.grow(address, ts, [Step("Some" + " words" * 2000)])
    await receiver.channel.edit(address, ts, part("Some" + " words" * 1900))
    assert len(shown(receiver)) == 4 + 6 * 1900


async def test_refused_blocks_at_the_end_of_a_stream_are_left_out(receiver: Bench) -> None:
    address, ts = await begun(receiver)
    receiver.slack.blocks = KNOWN_BLOCKS - {"actions"}
    receiver.slack.fail("chat.stopStream", times=1, error="invalid_blocks")
    await receiver.channel.edit(address, ts, part("Some words."))
    assert shown(receiver) == "Some words."


async def test_the_stop_button_of_a_stream_says_stop_once(receiver: Bench) -> None:
    address, ts = await begun(receiver)
    event: Params = {"type": "agent_session_stopped", "channel": "C1", "user": "U2"}
    event |= {"thread_ts": address.thread_id, "streaming_message_ts": [ts]}
    receiver.slack.event(event | {"event_ts": "1783536983.783769"})
    receiver.slack.event(event | {"event_ts": "not a time"})
    await receiver.intake.until(lambda: receiver.intake.messages[-1].text == "/stop")
    stop = receiver.intake.messages[-1]
    assert (stop.text, stop.sender.id, stop.address) == ("/stop", "U2", address)
    assert stop.pressed


async def test_a_stream_in_doubt_is_found_by_what_nothing_else_is(receiver: Bench) -> None:
    in_doubt = part("Some words", f"run:0{PREVIEW}")
    receiver.slack.fail("chat.startStream", times=1, drop="after")
    with pytest.raises(OutcomeUnknown):
        await begun(receiver)
    address = receiver.intake.messages[-1].address
    after = receiver.another()
    assert await after.find(address, part("Some words"), EVER) is None, "no ordinary message"
    assert await after.find(address, in_doubt, EVER) == message(receiver)["ts"]
    await after.close()


async def test_a_stream_from_before_the_send_is_what_another_answer_left_there() -> None:
    """The next answer would stand where nobody looks any more."""
    async with bench() as b, b.running():
        address, _ = await begun(b, Step("Some"))
        b.slack.now += 600
        b.clock.advance(600)
        after = b.another()
        assert await after.find(address, part("Some", f"a{PREVIEW}"), b.clock.now()) is None
        await after.close()


async def test_of_several_streams_in_doubt_it_is_the_one_that_begins_so(receiver: Bench) -> None:
    address, first = await begun(receiver, Step("Some"))
    second = await receiver.channel.start(address, part("x"), [Step("Another")], address.thread_id)
    assert await receiver.channel.find(address, part("Some", f"a{PREVIEW}"), EVER) is None
    after = receiver.another()
    for text, ts in (("Some", first), ("Another", second)):
        assert await after.find(address, part(text, f"a{PREVIEW}"), EVER) == ts
    with pytest.raises(Uncertain):
        await after.find(address, part("Third", f"a{PREVIEW}"), EVER)
    await after.close()


async def test_a_stream_is_stopped_before_it_is_deleted(receiver: Bench) -> None:
    address, ts = await begun(receiver)
    await receiver.channel.delete(address, ts)
    assert receiver.slack.sent("C1") == []
    with pytest.raises(Refused, match="message_not_found"):
        await receiver.channel.delete(address, ts)
