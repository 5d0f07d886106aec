"""What a platform says about its limits is obeyed: what it would refuse does not go out."""

from __future__ import annotations

import asyncio

import pytest

from nanobot.errors import NotSent
from nanobot.messages import Address
from nanobot.ports import OutboundPart, Reaction
from nanobot.system import SystemClock
from nanobot.testing.machine import ManualClock
from nanobot_channels.common.limits import PATIENT_SECONDS, Limits
from nanobot_channels.discord import DiscordChannel, Server
from tests.channels.discording import DM, GENERAL, opened
from tests.doubles.discord_server import DM as CHAT
from tests.doubles.discord_server import DiscordServer
from tests.doubles.slack_bench import bench

POST = "POST /channels/{channel}/messages"
ANN, BOB = Address("slack", "D1"), Address("slack", "C1")


def part(number: int = 0) -> OutboundPart:
    return OutboundPart(text=f"words {number}", key=f"run:{number}")


async def test_a_short_wait_is_waited_for_and_a_long_one_is_told() -> None:
    clock = ManualClock()
    limits = Limits(clock)
    limits.close("a", 2.0)
    limits.close("a", 1.0)
    limits.close("b", None)
    limits.close("b", -5.0)
    assert (limits.left("a"), limits.left("b"), limits.left("a", "b")) == (2.0, 0.0, 2.0)
    assert await limits.turn("a", "b") == 0.0
    assert clock.sleeps == [2.0]
    limits.close("a", PATIENT_SECONDS + 1)
    assert await limits.turn("a") == PATIENT_SECONDS + 1
    limits.close("absurd", 1e12)
    clock.advance(3_600)
    assert limits.left("absurd") == 0.0


async def test_a_hundred_thousand_limits_are_not_kept() -> None:
    clock = ManualClock()
    limits = Limits(clock)
    for number in range(100_000):
        limits.close(f"chat {number}", 1.0)
        clock.advance(0.01)
    assert len(limits._closed) <= 1_001


async def test_on_discord_no_message_is_sent_that_its_headers_rule_out() -> None:
    async with DiscordServer() as discord:
        discord.limits.most = (3, 0.3)
        where = Server(api_root=discord.api_root)
        channel = DiscordChannel("discord", discord.token, where, clock=SystemClock())
        for number in range(10):
            await channel.send(DM, part(number))
        await channel.send(GENERAL, part())
        await channel.close()
        assert len(discord.mine(CHAT)) == 10
        assert discord.limits.complaints == 0


async def test_on_discord_a_reaction_takes_the_place_of_the_other_within_their_limit() -> None:
    """One in a quarter of a second: the second call was refused, and both stood there."""
    async with DiscordServer() as discord:
        discord.limits.reacting = (1, 0.25)
        where = Server(api_root=discord.api_root)
        channel = DiscordChannel("discord", discord.token, where, clock=SystemClock())
        message = discord.add_message(CHAT, "hi")
        for mark in (Reaction.RECEIVED, Reaction.DONE):
            await channel.react(DM, message["id"], mark)
        await channel.close()
        assert discord.reactions[message["id"]] == ["✅"]
        assert discord.limits.complaints == 0


async def test_on_discord_a_limit_of_the_whole_bot_is_none_of_answers_to_presses() -> None:
    async with DiscordServer() as discord:
        clock = ManualClock()
        async with opened(discord, clock) as channel:
            discord.fail(POST, status=429, retry_after=60.0, scope="global")
            for address in (DM, GENERAL, DM):
                with pytest.raises(NotSent) as limited:
                    await channel.send(address, part())
                assert (limited.value.scope, limited.value.retry_after) == ("bot", 60.0)
            with pytest.raises(NotSent):
                await channel.typing(DM)
            assert len(discord.calls) == 1
            http = channel._http
            await http.answer_interaction("77", "t77", {"type": 6})
            assert discord.answers == {"77": {"type": 6}}
            clock.advance(60)
            await channel.send(DM, part())


async def test_on_discord_a_limit_of_one_channel_is_none_of_another() -> None:
    async with DiscordServer() as discord, opened(discord) as channel:
        discord.fail(POST, status=429, retry_after=60.0)
        with pytest.raises(NotSent):
            await channel.send(DM, part())
        await channel.send(GENERAL, part())
        with pytest.raises(NotSent) as limited:
            await channel.send(DM, part())
        assert (limited.value.scope, limited.value.retry_after) == ("chat", 60.0)
        assert len(discord.calls_of(POST)) == 2


async def test_on_slack_a_method_is_left_alone_for_the_time_it_named() -> None:
    async with bench() as b:
        ts = [await b.channel.send(chat, part()) for chat in (ANN, BOB)]
        limit = {"error": "ratelimited", "status": 429, "retry_after": 30}
        b.slack.fail("chat.update", times=1, **limit)
        for chat, number in zip((ANN, BOB), ts, strict=True):
            with pytest.raises(NotSent) as limited:
                await b.channel.edit(chat, number, part(1))
            assert limited.value.retry_after == 30
        assert len(b.slack.calls_of("chat.update")) == 1
        await b.channel.send(ANN, part(2))
        b.clock.advance(30)
        await b.channel.edit(ANN, ts[0], part(1))


async def test_on_slack_messages_have_a_limit_for_each_channel() -> None:
    async with bench() as b:
        b.slack.fail("chat.postMessage", times=1, error="ratelimited", status=429, retry_after=30)
        with pytest.raises(NotSent):
            await b.channel.send(ANN, part())
        await b.channel.send(BOB, part())
        with pytest.raises(NotSent):
            await b.channel.send(ANN, part())
        assert len(b.slack.calls_of("chat.postMessage")) == 2


async def test_on_slack_who_waits_for_a_short_time_waits_in_the_call() -> None:
    async with bench() as b:
        b.slack.fail("chat.postMessage", times=1, error="ratelimited", status=429, retry_after=2)
        with pytest.raises(NotSent):
            await b.channel.send(ANN, part())
        async with asyncio.TaskGroup() as tasks:
            for number in range(3):
                tasks.create_task(b.channel.send(ANN, part(number)))
        assert b.clock.sleeps[0] == 2.0
        assert len(b.slack.sent("D1")) == 3
