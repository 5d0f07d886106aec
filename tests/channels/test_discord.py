"""Discord's messages arrive in order, once each, and what a dead process missed is looked up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

import pytest

from nanobot.errors import BadCredentials, ChannelDown, StoreUnwritable
from nanobot.testing.machine import ManualClock
from nanobot_channels.discord.messages import snowflake_at
from nanobot_channels.discord.receiving import Limits
from tests.channels.discording import DM, GENERAL, IN_THREAD, opened, receiving
from tests.doubles import discord_server
from tests.doubles.discord_server import CHANNEL, ME, THREAD, DiscordServer
from tests.doubles.fake_intake import FakeIntake

CHAT = discord_server.DM


def texts(intake: FakeIntake) -> list[str]:
    return [message.text for message in intake.messages]


def an_hour_ago(discord: DiscordServer) -> str:
    return str(snowflake_at(discord.now - 3600))


async def test_a_direct_message_arrives_with_everything(discord: DiscordServer) -> None:
    async with opened(discord) as channel, receiving(channel) as intake:
        event = await discord.say(CHAT, "hi")
        message = (await intake.received(1))[0]
    assert message.address == DM
    assert message.message_id == message.dedupe_key == event["id"]
    assert (message.sender.id, message.sender.name) == ("7", "Person 7")
    assert message.sent_at == discord.now
    assert message.addressed
    assert not message.group
    assert (intake.stored or "").partition(":")[0] == event["id"]
    assert discord.queries[0]["compress"] == "zlib-stream"


async def test_a_first_start_looks_nothing_up_and_remembers_when_it_was(
    discord: DiscordServer,
) -> None:
    discord.add_message(CHAT, "before")
    discord.now += 5
    intake = FakeIntake()
    intake.addresses = [DM]
    async with opened(discord) as channel, receiving(channel, intake):
        await intake.until(lambda: intake.stored is not None)
    first = snowflake_at(discord.now)
    assert intake.stored == f"{first}:{first}"
    async with opened(discord) as channel, receiving(channel, intake):
        await discord.say(CHAT, "after")
        await intake.received(1)
    assert texts(intake) == ["after"]


@pytest.mark.parametrize("days", [40, -40])
async def test_a_wrong_clock_of_the_machine_loses_nothing_of_a_downtime(
    discord: DiscordServer, days: int, intake: FakeIntake
) -> None:
    clock = ManualClock(discord.now + days * 86_400)
    intake.addresses = [DM]
    discord.add_message(CHAT, "before")
    discord.now += 5
    async with opened(discord, clock) as channel, receiving(channel, intake):
        await intake.until(lambda: intake.stored is not None)
    discord.now += 60
    discord.add_message(CHAT, "missed")
    async with opened(discord, clock) as channel, receiving(channel, intake):
        await intake.received(1)
    assert texts(intake) == ["missed"]


async def test_what_was_said_meanwhile_is_looked_up_before_what_is_said_now(
    discord: DiscordServer,
) -> None:
    intake = FakeIntake(cursor=an_hour_ago(discord))
    intake.addresses = [DM, IN_THREAD]
    for number in range(3):
        discord.add_message(CHAT, f"missed {number}")
    discord.add_message(THREAD, f"missed <@{ME}>")
    slow = discord.fail("GET /channels/{channel}/messages", status=429, retry_after=3.0)
    clock = ManualClock(instant=False)
    async with opened(discord, clock) as channel, receiving(channel, intake):
        await clock.asleep()
        await discord.say(CHAT, "live")
        await discord.say(CHANNEL, "elsewhere")
        await intake.until(lambda: texts(intake) == ["elsewhere"])
        assert intake.stored == an_hour_ago(discord)
        clock.advance(3.0)
        await intake.received(6)
        await intake.until(lambda: intake.stored != an_hour_ago(discord))
    assert slow.hits == 1
    here = [message.text for message in intake.messages if message.address == DM]
    assert here == ["missed 0", "missed 1", "missed 2", "live"]
    (threaded,) = [message for message in intake.messages if message.address == IN_THREAD]
    assert (threaded.text, threaded.addressed, threaded.group) == ("missed", True, True)
    assert intake.stored == discord.history[CHANNEL][-1]["id"] + ":0"


async def test_a_process_that_dies_while_looking_up_loses_nothing(discord: DiscordServer) -> None:
    intake = FakeIntake(cursor=an_hour_ago(discord))
    intake.addresses = [DM, GENERAL]
    discord.add_message(CHAT, "one")
    discord.add_message(CHANNEL, "two")
    failing = discord.fail("GET /channels/{channel}/messages", times=1, status=500)
    async with opened(discord) as channel:
        with pytest.raises(ChannelDown):
            await channel.run(intake)
        assert failing.hits == 1
        assert intake.stored == an_hour_ago(discord)
        intake.failures.append(StoreUnwritable("disk full"))
        with pytest.raises(StoreUnwritable):
            await channel.run(intake)
        assert intake.stored == an_hour_ago(discord)
        async with receiving(channel, intake):
            await intake.until(lambda: intake.stored != an_hour_ago(discord))
    assert texts(intake) == ["one", "two"]


async def test_only_the_latest_of_too_many_are_looked_up(discord: DiscordServer) -> None:
    intake = FakeIntake(cursor=an_hour_ago(discord))
    intake.addresses = [DM]
    for number in range(230):
        discord.add_message(CHAT, str(number))
    limits = Limits(messages=150)
    async with opened(discord, limits=limits) as channel, receiving(channel, intake):
        await intake.received(150)
    assert texts(intake) == [str(number) for number in range(80, 230)]


async def test_nothing_older_than_the_bound_is_looked_up(discord: DiscordServer) -> None:
    discord.add_message(CHAT, "days ago")
    discord.now += 3 * 86_400
    discord.add_message(CHAT, "today")
    intake = FakeIntake(cursor="1000")
    intake.addresses = [DM]
    clock = ManualClock(discord.now)
    async with opened(discord, clock) as channel, receiving(channel, intake):
        await intake.until(lambda: intake.stored != "1000")
    assert texts(intake) == ["today"]


async def test_a_chat_that_may_not_be_read_any_more_does_not_stop_the_others(
    discord: DiscordServer,
) -> None:
    intake = FakeIntake(cursor=an_hour_ago(discord))
    intake.addresses = [GENERAL, DM]
    discord.fail("GET /channels/{channel}/messages", status=403, code=50001)
    discord.add_message(CHAT, "here")
    async with opened(discord) as channel, receiving(channel, intake):
        await intake.received(1)
    assert texts(intake) == ["here"]


async def test_a_broken_connection_is_resumed_and_nothing_comes_twice(
    discord: DiscordServer, intake: FakeIntake
) -> None:
    async with opened(discord) as channel, receiving(channel, intake):
        for end in (discord.ask_to_reconnect, lambda: discord.end(4000), _cut(discord)):
            count = len(discord.resumed)
            await discord.say(CHAT, f"before {count}")
            await intake.received(2 * count + 1)
            session = next(iter(discord.sessions.values()))
            await end()
            message = discord.add_message(CHAT, f"meanwhile {count}")
            await discord.deliver(session, "MESSAGE_CREATE", message)
            await intake.received(2 * count + 2)
    assert len(discord.identified) == 1
    assert [text for text in texts(intake) if "meanwhile" in text] == [
        "meanwhile 0",
        "meanwhile 1",
        "meanwhile 2",
    ]
    assert len({message.dedupe_key for message in intake.messages}) == len(intake.messages) == 6


async def test_a_resumed_connection_remembers_when_the_very_first_start_was(
    discord: DiscordServer,
) -> None:
    intake = FakeIntake()
    async with opened(discord) as channel:
        async with receiving(channel, intake):
            await intake.until(lambda: intake.stored is not None)
        first = (intake.stored or "").partition(":")[2]
        async with receiving(channel, intake):
            message = await discord.say(CHAT, "hello")
            await intake.received(1)
    assert (len(discord.identified), len(discord.resumed)) == (1, 1)
    assert intake.stored == f"{message['id']}:{first}"


def _cut(discord: DiscordServer) -> Callable[[], Awaitable[None]]:
    async def cut() -> None:
        discord.cut()

    return cut


async def test_a_session_that_cannot_be_resumed_begins_anew_and_looks_up(
    discord: DiscordServer, intake: FakeIntake
) -> None:
    intake.addresses = [DM]
    async with opened(discord) as channel, receiving(channel, intake):
        await discord.say(CHAT, "before")
        await intake.received(1)
        await discord.invalidate(resumable=False)
        discord.add_message(CHAT, "meanwhile")
        await intake.received(2)
    assert texts(intake) == ["before", "meanwhile"]
    assert len(discord.identified) == 2


async def test_an_admission_that_fails_ends_the_run_and_the_message_is_looked_up(
    discord: DiscordServer, intake: FakeIntake
) -> None:
    intake.addresses = [DM]
    async with opened(discord) as channel:
        running = asyncio.create_task(channel.run(intake))
        await intake.until(lambda: intake.stored is not None)
        intake.failures.append(StoreUnwritable("disk full"))
        await discord.say(CHAT, "hi")
        with pytest.raises(StoreUnwritable):
            await running
        async with receiving(channel, intake):
            await intake.received(1)
    assert texts(intake) == ["hi"]
    assert not discord.resumed


async def test_a_silent_connection_is_given_up_and_resumed(discord: DiscordServer) -> None:
    intake = FakeIntake()
    async with opened(discord) as channel:
        channel.gateway.timeout = 0.3
        async with receiving(channel, intake):
            discord.connection.answers_heartbeats = False
            await discord.until(lambda: len(discord.resumed) > 0)
            await discord.say(CHAT, "hi")
            await intake.received(1)
    assert texts(intake) == ["hi"]


async def test_heartbeats_are_signs_of_life(discord: DiscordServer, intake: FakeIntake) -> None:
    discord.heartbeat_interval = 20
    async with opened(discord) as channel, receiving(channel, intake):
        await intake.until(lambda: intake.signs_of_life > 5)
    assert discord.connections[0].heartbeats > 2


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        (4004, "Reset Token"),
        (4014, "Message Content Intent"),
        (4013, "intents are invalid"),
        (4011, "sharding"),
    ],
)
async def test_a_bot_that_discord_refuses_for_good_says_what_to_do(
    discord: DiscordServer, code: int, remedy: str
) -> None:
    discord.refuse_with = [code]
    async with opened(discord) as channel:
        with pytest.raises(BadCredentials, match=remedy):
            await channel.run(FakeIntake())


async def test_a_wrong_token_is_final(discord: DiscordServer) -> None:
    async with opened(discord) as channel:
        discord.token = "another"
        with pytest.raises(BadCredentials, match="Reset Token"):
            await channel.run(FakeIntake())
        with pytest.raises(BadCredentials, match="Reset Token"):
            await channel.check()


async def test_without_the_message_content_intent_mentions_and_direct_messages_are_heard(
    discord: DiscordServer,
) -> None:
    discord.flags = 0
    async with opened(discord) as channel:
        with pytest.raises(BadCredentials, match="message_content = false"):
            await channel.run(FakeIntake())
        with pytest.raises(BadCredentials, match="message_content = false"):
            await channel.check()
    intake = FakeIntake()
    limits = Limits(content=False)
    async with opened(discord, limits=limits) as channel, receiving(channel, intake):
        await discord.say(CHANNEL, "not for you")
        await discord.say(CHANNEL, f"<@{ME}> hello")
        await discord.say(CHAT, "direct")
        await intake.received(2)
        assert await channel.check() == "nano"
    assert texts(intake) == ["hello", "direct"]


async def test_a_gateway_that_closes_again_and_again_is_left_alone_for_a_while(
    discord: DiscordServer, intake: FakeIntake
) -> None:
    async with opened(discord) as channel:
        discord.refuse_with = [4000]
        with pytest.raises(ChannelDown):
            await channel.run(intake)
        running = asyncio.create_task(channel.run(intake))
        for count in range(5):
            await intake.until(lambda: intake.signs_of_life > 0)
            await discord.until(partial(_resumed, discord, count))
            intake.signs_of_life = 0
            await discord.end(4000)
        with pytest.raises(ChannelDown, match="again and again"):
            await running


def _resumed(discord: DiscordServer, times: int) -> bool:
    return len(discord.resumed) == times


async def test_no_new_session_is_asked_for_when_none_is_left(discord: DiscordServer) -> None:
    discord.sessions_left = 0
    async with opened(discord) as channel:
        with pytest.raises(ChannelDown) as raised:
            await channel.run(FakeIntake())
    assert raised.value.retry_after == 5


async def test_a_beginning_that_cannot_be_read_is_tried_again(discord: DiscordServer) -> None:
    discord.me = {"username": "nobody"}
    async with opened(discord) as channel:
        with pytest.raises(ChannelDown, match="who the bot is"):
            await channel.run(FakeIntake())


async def test_two_bots_of_one_process_are_on_different_servers(discord: DiscordServer) -> None:
    async with DiscordServer("another.token") as other:
        first, second = FakeIntake(), FakeIntake()
        async with (
            opened(discord) as ours,
            opened(other) as two,
            receiving(ours, first),
            receiving(two, second),
        ):
            await discord.say(CHAT, "here")
            await other.say(CHAT, "there")
            await first.received(1)
            await second.received(1)
    assert (texts(first), texts(second)) == (["here"], ["there"])
