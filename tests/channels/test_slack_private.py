"""What concerns one person of a channel is an ephemeral message on Slack, or the usual one."""

from __future__ import annotations

import pytest

from nanobot.errors import NotSent, Refused
from nanobot.messages import Address, Choice, OutboundMessage
from nanobot.ports import Confiding, OutboundPart
from nanobot_channels.slack.parts import render
from tests.doubles.slack_bench import Bench, bench
from tests.doubles.slack_rules import OLD_BLOCKS, shown_text

CHANNEL = Address("slack", "C1")


def part(text: str, *choices: Choice) -> OutboundPart:
    return render(OutboundMessage(address=CHANNEL, text=text, key="k", choices=choices))[0]


async def test_one_person_of_a_channel_is_told_alone(b: Bench) -> None:
    assert isinstance(b.channel, Confiding)
    assert b.channel.confides(CHANNEL, "U1")
    receipt = await b.channel.confide(CHANNEL, "U1", part("**No.**"))
    (message,) = b.slack.ephemeral
    assert (message["channel"], message["user"]) == ("C1", "U1")
    assert shown_text(message["blocks"]) == "**No.**"
    assert "metadata" not in message
    assert b.slack.sent("C1") == []
    with pytest.raises(Refused):
        await b.channel.edit(CHANNEL, receipt, part("Yes."))


async def test_nobody_is_told_alone_where_they_are_alone_or_unknown(b: Bench) -> None:
    assert not b.channel.confides(Address("slack", "D1"), "U1")
    assert not b.channel.confides(CHANNEL, "somebody")


async def test_in_a_thread_it_stands_once_there_is_an_answer(receiver: Bench) -> None:
    root = receiver.slack.say("C1", "<@UBOT> hello")
    message = (await receiver.intake.received(1))[0]
    await receiver.channel.confide(message.address, "U1", part("No."))
    await receiver.channel.send(message.address, part("Yes."))
    await receiver.channel.confide(message.address, "U1", part("No."))
    assert [message.get("thread_ts") for message in receiver.slack.ephemeral] == [None, root["ts"]]


async def test_what_waits_for_an_answer_is_for_all_to_see(b: Bench) -> None:
    with pytest.raises(Refused):
        await b.channel.confide(CHANNEL, "U1", part("May I?", Choice("Yes", "/approve 1")))
    assert b.channel.confides(CHANNEL, "U1")
    assert b.slack.calls == []


async def test_a_refusal_is_remembered_for_that_person_there(b: Bench) -> None:
    with pytest.raises(Refused):
        await b.channel.confide(CHANNEL, "U9", part("No."))
    assert not b.channel.confides(CHANNEL, "U9")
    assert b.channel.confides(CHANNEL, "U1")
    limited = {"error": "ratelimited", "status": 429, "retry_after": 3}
    b.slack.fail("chat.postEphemeral", times=1, **limited)
    with pytest.raises(NotSent):
        await b.channel.confide(CHANNEL, "U1", part("No."))
    assert b.channel.confides(CHANNEL, "U1")


async def test_the_older_form_is_for_one_person_too(b: Bench) -> None:
    b.slack.blocks = OLD_BLOCKS
    await b.channel.confide(CHANNEL, "U1", part("**No.**"))
    assert shown_text(b.slack.ephemeral[0]["blocks"]) == "No."


async def test_a_slash_command_is_seen_by_nobody_else() -> None:
    async with bench(slash_command="/nanobot") as b, b.running():
        b.slack.command("help", "C1")
        message = (await b.intake.received(1))[0]
        assert message.unseen
