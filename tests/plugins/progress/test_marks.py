"""Marks that say what became of a message: nice, never needed."""

from __future__ import annotations

import asyncio

from nanobot.channels.host import Hosting
from nanobot.config.settings.channels import ChannelSettings
from nanobot.errors import ChannelDown
from nanobot.messages import Address
from nanobot.ports import Reaction
from nanobot.testing import gateway
from nanobot.testing.gateway import Options
from nanobot.testing.model import Held, ScriptedProvider
from nanobot.testing.platform import FakeChannel, FakePlatform

MARKED = Options(hosting=Hosting(settings=ChannelSettings(type="fake", marks=True)))


async def test_a_message_is_marked_when_it_came_and_when_its_run_is_over() -> None:
    held, platform = Held(), FakePlatform()
    async with gateway(ScriptedProvider(held), platform, options=MARKED) as bot:
        message = await bot.channel.push("hello")
        await held.reached.wait()
        await bot.settle()
        assert platform.marks == [(message.message_id, Reaction.RECEIVED)]
        held.answer("Hello.")
        await bot.settle()
        assert platform.marks[1:] == [(message.message_id, Reaction.DONE)]


async def test_what_fails_and_what_is_stopped_is_marked_so() -> None:
    held, platform = Held(), FakePlatform()
    provider = ScriptedProvider(KeyError("a bug"), held)
    async with gateway(provider, platform, options=MARKED) as bot:
        await bot.channel.push("a", key="a")
        await bot.settle()
        await bot.channel.push("b", key="b")
        await held.reached.wait()
        await bot.channel.push("/stop", key="c")
        await bot.settle()
        ends = [mark for mark in platform.marks if mark[1] is not Reaction.RECEIVED]
        assert ends == [("a", Reaction.FAILED), ("b", Reaction.FAILED)]


async def test_what_a_run_took_in_meanwhile_is_done_with_it(platform: FakePlatform) -> None:
    async with gateway(channel=platform, options=MARKED) as bot:
        await bot.channel.push("a", key="a")
        await bot.channel.push("a", key="a")
        await bot.channel.push("b", key="b")
        await bot.settle()
        assert sorted(
            message_id for message_id, mark in platform.marks if mark is Reaction.DONE
        ) == ["a", "b"]
        assert [message_id for message_id, mark in platform.marks if mark is Reaction.RECEIVED] == [
            "a",
            "b",
        ]


async def test_what_is_answered_at_once_gets_no_mark(platform: FakePlatform) -> None:
    async with gateway(channel=platform, options=MARKED) as bot:
        await bot.channel.push("/status")
        await bot.channel.pop()
        await bot.settle()
        assert platform.marks == []


async def test_there_are_no_marks_unless_they_are_wanted_and_possible() -> None:
    for channel, options in ((FakePlatform(), Options()), (FakeChannel(), MARKED)):
        async with gateway(channel=channel, options=options) as bot:
            await bot.channel.push("hello")
            assert (await bot.channel.pop()).text == "echo: hello"
            await bot.settle()
            assert getattr(channel, "marks", []) == []


async def test_a_mark_that_hangs_or_fails_keeps_nobody_waiting() -> None:
    class Shy(FakePlatform):
        async def react(self, address: Address, message_id: str, mark: Reaction) -> None:
            if message_id == "u1":
                raise ChannelDown("not now")
            await asyncio.Event().wait()

    async with gateway(channel=Shy(), options=MARKED) as bot:
        for text in ("a", "b", "c"):
            await bot.channel.push(text)
            assert (await bot.channel.pop()).text == f"echo: {text}"
