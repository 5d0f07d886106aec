"""Thumbs below answers on Slack: a press says what it means; workspaces without them are fine."""

from __future__ import annotations

import msgspec

from nanobot.messages import Address, OutboundMessage
from nanobot.ports import OutboundPart
from nanobot_channels.slack.parts import payload_of
from tests.doubles.slack_bench import Bench, bench
from tests.doubles.slack_rules import KNOWN_BLOCKS

CHANNEL = Address("slack", "C1")
RUN = "01m80aj3rq7qvp61sg4t0jm0mg"


def parts(b: Bench, text: str = "So.", run_id: str = RUN) -> list[OutboundPart]:
    return b.channel.render(OutboundMessage(address=CHANNEL, text=text, key="k", run_id=run_id))


def kinds(b: Bench) -> list[str]:
    return [block["type"] for block in b.slack.sent("C1")[-1]["blocks"]]


async def test_an_answer_has_thumbs_below_its_last_part_alone(b: Bench) -> None:
    first, last = parts(b, "word " * 3000)
    assert payload_of(first).blocks == []
    ((element,),) = [block["elements"] for block in payload_of(last).blocks]
    assert element["positive_button"]["value"] == f"/runs feedback up run={RUN}"
    assert element["negative_button"]["value"] == f"/runs feedback down run={RUN}"
    assert payload_of(parts(b, run_id="")[0]).blocks == []
    async with bench(feedback=False) as b:
        assert payload_of(parts(b)[0]).blocks == []


async def test_a_press_says_the_verdict_in_the_thread_of_the_answer(receiver: Bench) -> None:
    root = receiver.slack.say("C1", "<@UBOT> hello")
    question = (await receiver.intake.received(1))[0]
    await receiver.channel.send(question.address, parts(receiver)[0])
    message = receiver.slack.sent("C1")[-1]
    for verdict in ("positive", "negative"):
        receiver.slack.judge("C1", message, verdict, user="U2")
    await receiver.intake.until(lambda: "down" in receiver.intake.messages[-1].text)
    up, down = receiver.intake.messages[-2:]
    assert [up.text, down.text] == [f"/runs feedback {way} run={RUN}" for way in ("up", "down")]
    assert up.pressed
    assert up.sender.id == "U2"
    assert up.address == Address("slack", "C1", root["ts"])
    assert up.dedupe_key != down.dedupe_key


async def test_a_workspace_without_thumbs_gets_markdown_without_them_after_one_try() -> None:
    async with bench() as b:
        b.slack.blocks = KNOWN_BLOCKS - {"context_actions"}
        for _ in range(2):
            await b.channel.send(CHANNEL, parts(b)[0])
            assert kinds(b) == ["markdown"]
        assert len(b.slack.calls_of("chat.postMessage")) == 3


async def test_the_end_of_a_stream_brings_the_thumbs(receiver: Bench) -> None:
    receiver.slack.say("C1", "<@UBOT> hello")
    question = (await receiver.intake.received(1))[0]
    address, reply_to = question.address, question.message_id
    first = msgspec.structs.replace(parts(receiver)[0], key="k:p")
    ts = await receiver.channel.start(address, first, [], reply_to)
    await receiver.channel.edit(address, ts, parts(receiver)[0])
    assert kinds(receiver) == ["markdown", "context_actions"]
