"""Reactions that say what became of a message, and the menu of commands: nice, never needed."""

from __future__ import annotations

import asyncio

from nanobot.channels.host import Hosting
from nanobot.channels.loading import menu
from nanobot.errors import ChannelDown
from nanobot.messages import Address, Role
from nanobot.operations.dispatcher import Dispatcher
from nanobot.ports import MenuCommand, Reaction
from nanobot.testing import gateway
from nanobot.testing.gateway import Options
from nanobot.testing.model import Held, ScriptedProvider
from nanobot.testing.platform import FakeChannel, FakePlatform

MARKED = Options(hosting=Hosting(marks=True))
COMMANDS = (MenuCommand("help", "shows this", "/help"),)


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


async def test_what_a_run_took_in_meanwhile_is_done_with_it() -> None:
    platform = FakePlatform()
    async with gateway(channel=platform, options=MARKED) as bot:
        await bot.channel.push("a", key="a")
        await bot.channel.push("a", key="a")
        await bot.channel.push("b", key="b")
        await bot.settle()
        assert sorted(one for one, mark in platform.marks if mark is Reaction.DONE) == ["a", "b"]
        assert [one for one, mark in platform.marks if mark is Reaction.RECEIVED] == ["a", "b"]


async def test_what_is_answered_at_once_gets_no_mark() -> None:
    platform = FakePlatform()
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


# The menu


async def test_the_menu_is_told_once_the_channel_is_up() -> None:
    platform = FakePlatform()
    platform.downs.append(ChannelDown("no connection"))
    options = Options(hosting=Hosting(commands=COMMANDS))
    async with gateway(channel=platform, options=options) as bot:
        await platform.until(lambda: bool(platform.menus))
        await bot.settle()
        assert platform.menus == [COMMANDS]


async def test_owners_have_a_menu_of_their_own_and_one_that_is_refused_spoils_no_other() -> None:
    class PerChat(FakePlatform):
        def __init__(self) -> None:
            super().__init__()
            self.own: dict[str, object] = {}

        async def register_in(self, chat_id: str, commands: object) -> None:
            if chat_id == "never-wrote":
                raise ChannelDown("chat not found")
            self.own[chat_id] = commands

    platform, more = PerChat(), (*COMMANDS, MenuCommand("runs", "lists runs", "/runs"))
    hosting = Hosting(commands=COMMANDS, commands_of={"never-wrote": more, "7": more})
    async with gateway(channel=platform, options=Options(hosting=hosting)):
        await platform.until(lambda: "7" in platform.own)
        assert platform.menus == [COMMANDS]
        assert platform.own == {"7": more}


async def test_a_menu_that_is_refused_changes_nothing() -> None:
    class Menuless(FakePlatform):
        async def register(self, commands: object) -> None:
            raise ChannelDown("not now")

    options = Options(hosting=Hosting(commands=COMMANDS))
    async with gateway(channel=Menuless(), options=options) as bot:
        await bot.channel.push("hello")
        assert (await bot.channel.pop()).text == "echo: hello"


async def test_the_menu_holds_what_its_readers_may_use() -> None:
    async with gateway() as bot:
        operations = Dispatcher(bot.engine)
        members, owners = menu(operations, Role.MEMBER), menu(operations, Role.OWNER)
    assert {"help", "new", "stop", "status"} <= {one.name for one in members}
    assert set(members) < set(owners)
    assert all(one.help and one.usage.startswith(f"/{one.name}") for one in owners)
    assert all(" " not in one.name for one in owners)
