"""The sign of typing, where nothing else shows that a run works."""

from __future__ import annotations

from nanobot.errors import ChannelDown, NotSent
from nanobot.messages import Address
from nanobot.plugins.progress.typing import TYPING_AFTER, TYPING_EVERY
from nanobot.ports import Capabilities
from nanobot.session.runs import Ending
from nanobot.session.states import RunState
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, Process
from nanobot.testing.model import Held, ScriptedProvider, asks_for
from nanobot.testing.platform import FakeChannel
from tests.agent import tooling
from tests.agent.building import asking
from tests.channels.seeing import clock_of, standing


def typing_channel() -> FakeChannel:
    return FakeChannel(capabilities=Capabilities(typing=True))


async def pass_seconds(bot: FakeGateway, seconds: int) -> None:
    for _ in range(seconds):
        clock_of(bot).advance(1)
        await bot.settle()


async def test_typing_is_shown_after_a_second_and_every_four(held: Held) -> None:
    channel = typing_channel()
    async with standing() as home, gateway(ScriptedProvider(held), channel, home=home) as bot:
        await bot.channel.push("hello")
        await held.reached.wait()
        await bot.settle()
        assert channel.typed == []
        shown = []
        for _ in range(10):
            await pass_seconds(bot, 1)
            shown.append(len(channel.typed))
        assert shown == [1, 1, 1, 1, 2, 2, 2, 2, 3, 3]
        assert (TYPING_AFTER, TYPING_EVERY) == (1.0, 4.0)
        held.answer("done")
        await bot.channel.pop()
        await pass_seconds(bot, 10)
        assert len(channel.typed) == 3


class TellingChannel(FakeChannel):
    """Shows what is being done."""

    def __init__(self) -> None:
        super().__init__(capabilities=Capabilities(typing=True))
        self.told: list[str] = []

    async def tell(self, address: Address, doing: str) -> None:
        self.told.append(doing)


async def test_where_words_can_be_shown_they_say_which_tool_is_at_work() -> None:
    gate, channel = tooling.Gate(), TellingChannel()
    provider = ScriptedProvider(asks_for("exec", text="ls -la"), "Done.")
    async with (
        standing() as home,
        gateway(provider, channel, tools=[tooling.Recorder().tool(then=gate)], home=home) as bot,
    ):
        await bot.channel.push("hello")
        await gate.reached.wait()
        await pass_seconds(bot, 3)
        assert (channel.told, channel.typed) == (["exec: ls -la"], [])
        gate.open.set()
        await bot.channel.pop()


async def test_a_quick_answer_shows_no_typing() -> None:
    channel = typing_channel()
    async with standing() as home, gateway(channel=channel, home=home) as bot:
        for text in "abc":
            await bot.channel.push(text)
            await bot.channel.pop()
            await bot.settle()
            await pass_seconds(bot, 3)
        assert channel.typed == []


async def test_typing_ends_when_the_run_is_stopped(held: Held) -> None:
    channel = typing_channel()
    async with standing() as home, gateway(ScriptedProvider(held), channel, home=home) as bot:
        await bot.channel.push("hello")
        await held.reached.wait()
        await pass_seconds(bot, 2)
        await bot.channel.push("/stop")
        await bot.channel.pop()
        await bot.settle()
        count = len(channel.typed)
        assert count == 1
        await pass_seconds(bot, 9)
        assert len(channel.typed) == count


async def test_typing_ends_when_the_lane_was_taken_away(held: Held) -> None:
    channel = typing_channel()
    async with standing() as home, gateway(ScriptedProvider(held), channel, home=home) as bot:
        await bot.channel.push("hello")
        await held.reached.wait()
        thief = Process(home).journal
        claim = await thief.claim("fake:1", "unused", "UTC")
        assert claim
        await thief.start_model(claim.lane, claim.run, [asking(2)], None)
        await thief.finish(claim.lane, claim.run, Ending(state=RunState.COMPLETED))
        await pass_seconds(bot, 2)
        held.answer("too late")
        await bot.settle()
        count = len(channel.typed)
        await pass_seconds(bot, 9)
        assert len(channel.typed) == count == 1


async def test_typing_yields_to_replies_once_the_platform_has_complained(held: Held) -> None:
    channel = typing_channel()
    async with standing() as home, gateway(ScriptedProvider("a", held), channel, home=home) as bot:
        channel.fail(NotSent("429", retry_after=2))
        await bot.channel.push("first")
        await bot.settle()
        await pass_seconds(bot, 3)
        await bot.channel.pop()
        await bot.channel.push("hello")
        await held.reached.wait()
        await pass_seconds(bot, 50)
        assert channel.typed == []
        await pass_seconds(bot, 20)
        assert channel.typed
        held.answer("done")


async def test_typing_that_fails_is_nobodys_trouble() -> None:
    class Shy(FakeChannel):
        async def typing(self, address: object) -> None:
            raise ChannelDown("not now")

    held = Held()
    channel = Shy(capabilities=Capabilities(typing=True))
    async with standing() as home, gateway(ScriptedProvider(held), channel, home=home) as bot:
        await bot.channel.push("hello")
        await held.reached.wait()
        await pass_seconds(bot, 3)
        held.answer("done")
        assert (await bot.channel.pop()).text == "done"
