"""Reactions from a time in which nobody listened decide open questions, and nothing else."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from nanobot.errors import ChannelDown, NotSent, OutcomeUnknown, Refused
from nanobot.messages import Address, InboundMessage, OutboundMessage, Sender
from nanobot.plugins.missed_reactions.looking import LOOK_SECONDS, MOST_QUESTIONS
from nanobot.ports import Recalling
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, MemoryHome
from nanobot.testing.machine import ManualClock
from nanobot.testing.model import ScriptedProvider, asks_for
from nanobot.testing.platform import MEMBER, OWNER, FakePlatform
from nanobot.tools.base import AnyTool
from nanobot_channels.common.shapes import BadEvent
from nanobot_channels.discord.reactions import MOST_EMOJI, emoji_of, reactions_by
from nanobot_channels.slack.events import BotUser
from nanobot_channels.slack.reactions import standing_reactions
from tests.agent.tooling import Recorder
from tests.channels.discording import DM, opened
from tests.doubles import discord_server
from tests.doubles.discord_server import DiscordServer
from tests.doubles.slack_bench import bench

ODD: tuple[object, ...] = ({"reactions": 7}, {"reactions": [{}]}, [], None)
ROUTE = "GET /channels/{channel}/messages/{message}/reactions/{emoji}"


class Remembering(FakePlatform):
    """A platform that shows who reacted, by message."""

    def __init__(self) -> None:
        super().__init__()
        self.standing: dict[str, list[tuple[str, str]]] = {}
        self.looked: list[str] = []
        self.troubles: list[Exception] = []

    async def reactions(self, address: Address, message_id: str) -> list[InboundMessage]:
        self.looked.append(message_id)
        self._change()
        if self.troubles:
            raise self.troubles.pop(0)
        return [
            InboundMessage(
                address=address,
                message_id=message_id,
                dedupe_key=f"{message_id}:{person}:{emoji}",
                sender=Sender(person),
                text=emoji,
                sent_at=0.0,
                reply_to=message_id,
                reaction=True,
            )
            for person, emoji in self.standing.get(message_id, [])
        ]


def tools(recorder: Recorder) -> list[AnyTool]:
    return [msgspec.structs.replace(recorder.tool("act"), risk="high")]


def model() -> ScriptedProvider:
    return ScriptedProvider("hi", asks_for("act", text="now"), "It is over.")


def later() -> ScriptedProvider:
    return ScriptedProvider("It is over.", "And on.", "And more.")


async def asked(bot: FakeGateway) -> str:
    """A member's call waits; the id of the question in the owner's chat."""
    await bot.channel.push("hello", chat="9")
    await bot.channel.pop("9")
    await bot.channel.push("act", sender=MEMBER)
    question = await bot.channel.pop("9")
    assert "May I do this? (#1)" in question.text
    await bot.settle()
    return question.id


@pytest.mark.parametrize(
    ("standing", "done"),
    [
        ([(OWNER, "👍")], 1),
        ([(OWNER, "👍"), (OWNER, "👎")], 0),
        ([(MEMBER, "👎"), ("99", "👎"), (OWNER, "🎉"), (OWNER, "✅")], 1),
        ([(OWNER, "👎")], 0),
    ],
)
async def test_what_stands_there_at_the_start_decides_and_a_no_before_a_yes(
    standing: list[tuple[str, str]], done: int
) -> None:
    platform, recorder = Remembering(), Recorder()
    assert isinstance(platform, Recalling)
    async with MemoryHome() as home:
        async with gateway(model(), platform, home=home, tools=tools(recorder)) as bot:
            platform.standing[await asked(bot)] = standing
        async with gateway(later(), platform, home=home, tools=tools(recorder)) as bot:
            await bot.channel.until(
                lambda: "It is over." in [message.text for message in platform.sent]
            )
            await bot.settle()
            assert len(recorder.calls) == done


@pytest.mark.parametrize(
    "trouble",
    [Refused("gone"), OutcomeUnknown("cut"), ChannelDown("502"), KeyError("a bug of the adapter")],
)
async def test_what_cannot_be_read_is_left_and_everything_else_goes_on(trouble: Exception) -> None:
    platform = Remembering()
    async with MemoryHome() as home:
        async with gateway(model(), platform, home=home, tools=tools(Recorder())) as bot:
            await asked(bot)
        platform.troubles = [trouble]
        platform.looked.clear()
        async with gateway(ScriptedProvider("Well."), platform, home=home) as bot:
            await bot.channel.until(lambda: bool(platform.looked))
            await bot.channel.push("hello", chat="2")
            assert (await bot.channel.pop("2")).text == "Well."
            assert platform.runs == 2


async def test_a_question_that_cannot_be_looked_at_keeps_no_other_waiting() -> None:
    platform, recorder = Remembering(), Recorder()
    asks = ScriptedProvider("hi", *(asks_for("act", text="now") for _ in range(2)))
    async with MemoryHome() as home:
        async with gateway(asks, platform, home=home, tools=tools(recorder)) as bot:
            first = await asked(bot)
            await bot.channel.push("act", sender=MEMBER, chat="2")
            second = (await bot.channel.pop("9")).id
            platform.standing |= {first: [(OWNER, "👍")], second: [(OWNER, "👍")]}
            await bot.settle()
        platform.troubles = [KeyError("a bug of the adapter")]
        platform.looked.clear()
        async with gateway(later(), platform, home=home, tools=tools(recorder)) as bot:
            await bot.channel.until(lambda: len(platform.looked) >= 2)
            await bot.channel.until(
                lambda: "It is over." in [message.text for message in platform.sent]
            )
            assert len(recorder.calls) == 2


async def test_the_wait_that_a_platform_asks_for_is_waited() -> None:
    platform = Remembering()
    async with MemoryHome() as home:
        async with gateway(model(), platform, home=home, tools=tools(Recorder())) as bot:
            await asked(bot)
        platform.troubles = [NotSent("429", retry_after=17)]
        platform.looked.clear()
        async with gateway(later(), platform, home=home) as bot:
            await bot.channel.until(lambda: bool(platform.looked))
            await bot.settle()
            assert isinstance(home.clock, ManualClock)
            assert 17 in home.clock.sleeps
            assert LOOK_SECONDS in home.clock.sleeps


async def test_without_an_open_question_nobody_is_asked() -> None:
    platform = Remembering()
    async with gateway(ScriptedProvider("Well."), platform) as bot:
        await bot.channel.push("hello")
        await bot.channel.pop()
        await bot.settle()
        assert platform.looked == []
    assert MOST_QUESTIONS <= 100


# At the wire


async def test_on_discord_those_who_reacted_are_read_and_bots_are_none() -> None:
    async with DiscordServer() as discord, opened(discord) as channel:
        receipt = await channel.send(DM, (channel.render(_message()))[0])
        people: list[dict[str, Any]] = [{"id": "7", "username": "ann"}, {"id": "8", "bot": True}]
        discord.reacted[receipt] = {"👍": people, "👎": []}
        (message,) = await channel.reactions(DM, receipt)
        assert (message.sender.id, message.text, message.reply_to) == ("7", "👍", receipt)
        assert (message.reaction, message.address) == (True, DM)
        assert len(discord.calls_of(ROUTE)) == 2
        with pytest.raises(Refused):
            await channel.reactions(DM, "77")


async def test_on_discord_what_is_no_reaction_is_none() -> None:
    for odd in ODD:
        with pytest.raises(BadEvent):
            emoji_of(odd)
    counts: list[Any] = [{"emoji": {"id": "5", "name": "own"}}, {"emoji": {"name": None}}]
    counts += [{"emoji": {"name": "👍"}}] * 1_000
    assert emoji_of({"reactions": counts}) == ["👍"] * MOST_EMOJI
    with pytest.raises(BadEvent):
        reactions_by({"id": 7}, "👍", DM, discord_server.ME)


async def test_on_slack_those_who_reacted_are_read_and_other_emoji_are_none() -> None:
    async with bench() as b, b.running():
        chat = Address("slack", "D1")
        ts = await b.channel.send(chat, b.channel.render(_message())[0])
        b.slack.reacted["D1", ts] = {
            "+1": ["U1", "UBOT"],
            "tada": ["U1"],
            "-1::skin-tone-3": ["U2"],
        }
        messages = await b.channel.reactions(chat, ts)
        reactions = [
            (reaction.sender.id, reaction.sender.name, reaction.text) for reaction in messages
        ]
        assert reactions == [("U1", "Ann", "👍"), ("U2", "Bob", "👎")]
        assert await b.channel.reactions(chat, "ephemeral:7") == []
        with pytest.raises(Refused):
            await b.channel.reactions(chat, "7.000100")


async def test_on_slack_what_is_no_reaction_is_none() -> None:
    me = BotUser(user_id="UBOT")
    for odd in ODD:
        with pytest.raises(BadEvent):
            standing_reactions(odd, ("D1", "7.000100"), me, "slack")


def _message() -> OutboundMessage:
    return OutboundMessage(address=DM, text="May I?", key="k")
