"""Reactions of people: every channel that has them passes them on, naming what `send` returned."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import msgspec
import pytest

from nanobot.messages import Address
from nanobot.ports import Channel, OutboundPart
from nanobot.testing.machine import ManualClock
from nanobot_channels.common.shapes import BadEvent
from nanobot_channels.discord.messages import BotUser, ChannelPlace
from nanobot_channels.discord.reactions import parse_reaction, reaction_message
from nanobot_channels.slack.events import BotUser as SlackBot
from nanobot_channels.slack.reactions import reaction_message as slack_reaction
from nanobot_channels.telegram import TelegramChannel
from nanobot_channels.telegram.updates import BadUpdate, to_inbound
from tests.channels import discording, matrixing
from tests.doubles import discord_server, reactions
from tests.doubles.discord_server import DiscordServer
from tests.doubles.fake_intake import FakeIntake
from tests.doubles.matrix_rooms import ANN
from tests.doubles.matrix_server import MatrixServer
from tests.doubles.slack_bench import bench
from tests.doubles.telegram_server import TelegramServer


class Reacting(msgspec.Struct):
    """A channel that receives, a private chat there, and somebody who reacts in it."""

    channel: Channel
    intake: FakeIntake
    chat: Address
    person: str
    react: Callable[[str, str], Awaitable[None]]


@asynccontextmanager
async def telegram() -> AsyncIterator[Reacting]:
    async with TelegramServer() as server:
        channel = TelegramChannel("telegram", server.token, server.root_url, clock=ManualClock())
        intake = FakeIntake()

        async def react(message_id: str, emoji: str) -> None:
            await server.called("getUpdates")
            assert reactions.on_telegram(server, 1, int(message_id), emoji)

        server.say(1, "hello")
        async with discording.receiving(channel, intake):
            yield Reacting(channel, intake, Address("telegram", "1"), "1", react)
        await channel.close()


@asynccontextmanager
async def discord() -> AsyncIterator[Reacting]:
    async with DiscordServer() as server, discording.opened(server) as channel:
        intake = FakeIntake()

        async def react(message_id: str, emoji: str) -> None:
            (message,) = [each for each in server.mine(DM) if each["id"] == message_id]
            assert await reactions.on_discord(server, message, emoji)

        async with discording.receiving(channel, intake):
            await server.say(DM, "hello")
            yield Reacting(channel, intake, discording.DM, discord_server.PERSON, react)


@asynccontextmanager
async def slack() -> AsyncIterator[Reacting]:
    async with bench() as workbench, workbench.running():

        async def react(message_id: str, emoji: str) -> None:
            reactions.on_slack(workbench.slack, "D1", message_id, emoji)

        workbench.slack.say("D1", "hello")
        channel, intake = workbench.channel, workbench.intake
        yield Reacting(channel, intake, Address("slack", "D1"), "U1", react)


@asynccontextmanager
async def matrix() -> AsyncIterator[Reacting]:
    async with MatrixServer() as server:
        channel, intake = matrixing.channel(server), FakeIntake()

        async def react(message_id: str, emoji: str) -> None:
            reactions.on_matrix(server, server.dm, message_id, emoji)

        async with matrixing.receiving(channel, intake):
            server.say(server.dm, "hello")
            yield Reacting(channel, intake, Address("matrix", server.dm), ANN, react)


DM = discord_server.DM
PLATFORMS: tuple[Callable[[], AbstractAsyncContextManager[Reacting]], ...] = (
    telegram,
    discord,
    slack,
    matrix,
)
every = pytest.mark.parametrize("platform", PLATFORMS, ids=lambda platform: platform.__name__)


@every
async def test_a_reaction_names_the_message_as_its_receipt_does_and_who_put_which_emoji(
    platform: Callable[[], AbstractAsyncContextManager[Reacting]],
) -> None:
    async with platform() as it:
        (hello,) = await it.intake.received(1)
        receipt = await it.channel.send(it.chat, OutboundPart(text="May I?"))
        await it.react(receipt, "👍")
        reaction = (await it.intake.received(2))[1]
        assert (reaction.reaction, reaction.reply_to, reaction.text) == (True, receipt, "👍")
        assert (reaction.address, reaction.sender.id) == (it.chat, it.person)
        assert (reaction.sender.id, reaction.group) == (hello.sender.id, False)
        assert reaction.dedupe_key != hello.dedupe_key


def telegrams(**changed: Any) -> dict[str, Any]:
    reacted: dict[str, Any] = {"chat": {"id": -5, "type": "supergroup"}, "message_id": 7, "date": 9}
    reacted |= {"user": {"id": 3, "first_name": "Ann"}, "old_reaction": [], "new_reaction": []}
    return {"update_id": 1, "message_reaction": reacted | changed}


def emoji(*those: str) -> list[dict[str, str]]:
    return [{"type": "emoji", "emoji": name} for name in those]


def test_telegrams_removals_several_at_once_custom_ones_and_bots_say_nothing() -> None:
    for changed in (
        {"old_reaction": emoji("👍")},
        {"new_reaction": emoji("👍", "👎")},
        {"new_reaction": [{"type": "custom_emoji", "custom_emoji_id": "5"}]},
        {"new_reaction": [{"type": "paid"}]},
        {"new_reaction": emoji("👍"), "user": {"id": 3, "is_bot": True}},
        {"new_reaction": emoji("👍"), "user": None},
    ):
        assert to_inbound(telegrams(**changed), "telegram", None, 0.0) is None, changed
    with pytest.raises(BadUpdate):
        to_inbound(telegrams(new_reaction="👍"), "telegram", None, 0.0)


def test_telegrams_change_of_one_emoji_is_the_new_one_and_groups_react_as_their_chat() -> None:
    changed = telegrams(old_reaction=emoji("👎"), new_reaction=emoji("👍", "👎"))
    message = to_inbound(changed, "telegram", None, 0.0)
    assert message is not None
    assert (message.text, message.reply_to, message.group) == ("👍", "7", True)
    anonymous = telegrams(new_reaction=emoji("👍"), user=None, actor_chat={"id": -5, "title": "We"})
    message = to_inbound(anonymous, "telegram", None, 0.0)
    assert message is not None
    assert (message.sender.id, message.sender.name) == ("-5", "We")


def discords(**fields: Any) -> dict[str, Any]:
    event: dict[str, Any] = {"user_id": "7", "channel_id": "2", "message_id": "3"}
    return event | {"emoji": {"id": None, "name": "👍"}, "message_author_id": "1"} | fields


def test_discords_reactions_of_the_bot_to_others_and_with_a_servers_emoji_are_passed_over() -> None:
    me = BotUser("1")
    assert parse_reaction(discords()).is_for(me)
    for fields in (
        {"message_author_id": "9"},
        {"user_id": "1"},
        {"emoji": {"id": "5", "name": "👍"}},
    ):
        assert not parse_reaction(discords(**fields)).is_for(me)
    for broken in ({}, discords(user_id="x"), discords(emoji=None), 7):
        with pytest.raises(BadEvent):
            parse_reaction(broken)


def test_discords_reaction_in_a_thread_is_in_the_threads_place_and_another_bots_is_nothing() -> (
    None
):
    reaction = parse_reaction(discords(member={"nick": "Annie", "user": {"id": "7"}}))
    message = reaction_message(reaction, ChannelPlace("g", parent="5"), "discord", 4.0)
    assert message is not None
    assert message.address == Address("discord", "5", "2")
    assert (message.sender.name, message.group) == ("Annie", True)
    other = parse_reaction(discords(member={"user": {"id": "7", "bot": True}}))
    assert reaction_message(other, ChannelPlace("g"), "discord", 4.0) is None


def slacks(**fields: Any) -> dict[str, Any]:
    event: dict[str, Any] = {"type": "reaction_added", "user": "U1", "reaction": "+1"}
    event |= {"item": {"type": "message", "channel": "C1", "ts": "1.2"}, "item_user": "UBOT"}
    return event | {"event_ts": "5.6"} | fields


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("+1", "👍"),
        ("thumbsup::skin-tone-4", "👍"),
        ("heavy_check_mark", "✔"),
        ("-1", "👎"),
        ("x", "❌"),
    ],
)
def test_slacks_names_of_emoji_are_read(name: str, text: str) -> None:
    message = slack_reaction(slacks(reaction=name), SlackBot("UBOT"), "slack")
    assert message is not None
    assert (message.text, message.reply_to, message.group) == (text, "1.2", True)


def test_slacks_other_emoji_files_and_messages_of_others_are_passed_over() -> None:
    me = SlackBot("UBOT")
    for fields in (
        {"reaction": "tada"},
        {"item": {"type": "file", "file": "F1"}},
        {"item_user": "U2"},
        {"user": "UBOT"},
    ):
        assert slack_reaction(slacks(**fields), me, "slack") is None
    for broken in ({"item": {"type": "message"}}, {"item": 3}, {"user": None}):
        with pytest.raises(BadEvent):
            slack_reaction(slacks(**broken), me, "slack")


async def test_matrixs_reaction_to_nothing_is_skipped_and_a_redacted_one_no_event() -> None:
    async with MatrixServer() as server:
        channel, intake = matrixing.channel(server), FakeIntake()
        async with matrixing.receiving(channel, intake):
            server.rooms.add(server.dm, "m.reaction", {"m.relates_to": 5}, sender=ANN)
            server.rooms.add(server.dm, "m.reaction", {}, sender=ANN)
            server.say(server.dm, "hello")
            messages = await intake.received(1)
    assert [message.text for message in messages] == ["hello"]
