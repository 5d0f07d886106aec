"""The host of a channel: supervised on its own, and showing that work is done."""

from __future__ import annotations

import asyncio
import random
from types import SimpleNamespace
from typing import Any, cast

import pytest

from nanobot.app.hosting import HostedChannels
from nanobot.bus.gate import Gate
from nanobot.channels.host import ChannelHost
from nanobot.channels.intake import ChannelIntake
from nanobot.channels.loading import reception
from nanobot.errors import BadCredentials, ChannelDown
from nanobot.operations.dispatcher import Dispatcher
from nanobot.ports import Capabilities, Intake
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, MemoryHome
from nanobot.testing.model import Held, ScriptedProvider
from nanobot.testing.platform import OWNER, FakeChannel
from tests.channels.seeing import clock_of, standing

# Supervision


async def test_a_channel_is_up_once_its_platform_answered(bot: FakeGateway) -> None:
    await bot.host.settled.wait()
    assert bot.host.state == "up"


async def test_refused_credentials_stop_that_channel_and_no_other() -> None:
    channel = FakeChannel()
    channel.downs.append(BadCredentials("the token is refused"))
    async with gateway(channel=channel) as bot:
        await bot.host.settled.wait()
        assert bot.host.state == "failed"
        other = FakeChannel("other")
        host = ChannelHost("other", other, bot.bus, bot.home.clock, random.Random(0))
        async with asyncio.TaskGroup() as tasks:
            gate = Gate((OWNER,), ())
            operations = Dispatcher(bot.engine)
            intake = ChannelIntake("other", gate, bot.bus, reception(operations), "chat", host)
            hosting = tasks.create_task(host.run(intake))
            await host.settled.wait()
            assert host.state == "up"
            await other.push("hello")
            assert (await other.pop()).text == "echo: hello"
            hosting.cancel()
        assert channel.runs == 1


async def test_what_can_wait_does_so_until_each_channel_has_asked_or_had_the_time() -> None:
    channels = HostedChannels()
    hosts = [SimpleNamespace(name=name, settled=asyncio.Event()) for name in ("one", "other")]
    for host in hosts:
        channels.hosts[host.name] = cast("Any", host)
    async with asyncio.timeout(5):
        await channels.asked()  # nobody answers
        hosts[0].settled.set()
        asked = asyncio.create_task(channels.asked())
        await asyncio.sleep(0)
        assert not asked.done()
        hosts[1].settled.set()
        await asked


async def test_a_channel_that_is_down_is_tried_again_less_and_less_often() -> None:
    channel = FakeChannel()
    channel.downs.extend([ChannelDown("no connection")] * 9)
    async with gateway(channel=channel) as bot:
        await bot.channel.push("hello")
        assert (await bot.channel.pop()).text == "echo: hello"
        assert bot.host.state == "up"
        waits = clock_of(bot).sleeps
        assert len(waits) == 9
        assert waits[:4] == sorted(waits[:4])
        assert 0.8 <= waits[0] <= 1.2
        assert 48 <= waits[-1] <= 72


async def test_a_channel_comes_back_after_an_outage_of_a_day() -> None:
    channel = FakeChannel()
    channel.downs.extend([ChannelDown("no connection")] * 1_500)
    async with gateway(channel=channel) as bot:
        await bot.channel.push("hello")
        assert (await bot.channel.pop()).text == "echo: hello"


@pytest.mark.parametrize(("pause", "waited"), [(33, 33), (86_400, 3_600)])
async def test_what_the_platform_says_about_waiting_is_obeyed(pause: int, waited: int) -> None:
    """For an hour at most: who named a whole day may be a proxy."""
    channel = FakeChannel()
    channel.downs.append(ChannelDown("flood", retry_after=pause))
    async with gateway(channel=channel) as bot:
        await bot.channel.until(lambda: channel.runs == 2)
        assert clock_of(bot).sleeps == [waited]


async def test_a_bug_of_an_adapter_is_a_channel_that_is_down() -> None:
    channel = FakeChannel()
    channel.downs.append(KeyError("a bug"))
    async with standing() as home, gateway(channel=channel, home=home) as bot:
        await bot.host.settled.wait()
        assert bot.host.state == "down"
        await clock_of(bot).asleep()
        clock_of(bot).advance(5)
        await bot.channel.until(lambda: channel.runs == 2)
        await bot.settle()
        assert bot.host.state == "up"


async def test_a_channel_that_failed_still_delivers_what_it_can() -> None:
    async with MemoryHome() as home:
        async with gateway(home=home) as bot:
            bot.process.before = lambda verb: bot.crash() if verb == "begin_send" else None
            await bot.channel.push("hello")
            await bot.settle()
        channel = FakeChannel()
        channel.downs.append(BadCredentials("refused"))
        async with gateway(channel=channel, home=home) as bot:
            assert (await bot.channel.pop()).text == "echo: hello"


async def test_without_intake_delivery_goes_on(held: Held) -> None:
    async with gateway(ScriptedProvider(held)) as bot:
        await bot.channel.push("hello")
        await held.reached.wait()
        await bot.host.stop_intake()
        held.answer("done")
        assert (await bot.channel.pop()).text == "done"


async def test_closing_closes_the_channel_and_survives_its_bugs() -> None:
    class Broken(FakeChannel):
        async def close(self) -> None:
            await super().close()
            raise KeyError("a bug")

    channel = Broken()
    async with gateway(channel=channel) as bot:
        await bot.host.close()
    assert channel.closed


# Liveness


async def pass_seconds(bot: FakeGateway, seconds: int) -> None:
    for _ in range(seconds):
        clock_of(bot).advance(1)
        await bot.settle()


class Hanging(FakeChannel):
    """It comes up, and then hears nothing and says nothing; once started again it stays well."""

    def __init__(self) -> None:
        super().__init__(capabilities=Capabilities(heartbeat=10))
        self.beating = asyncio.Event()

    async def run(self, intake: Intake) -> None:
        self.runs += 1
        intake.alive()
        if self.runs > 1:
            await super().run(intake)
        while True:
            await self.beating.wait()
            self.beating.clear()
            intake.alive()


async def test_a_channel_that_is_silent_for_too_long_is_started_again() -> None:
    channel = Hanging()
    async with standing() as home, gateway(channel=channel, home=home) as bot:
        await pass_seconds(bot, 20)
        assert (channel.runs, bot.host.state) == (1, "up")
        await pass_seconds(bot, 10)
        assert (channel.runs, bot.host.state) == (1, "wedged")
        assert bot.facts().channels == {"fake": "wedged"}
        await pass_seconds(bot, 2)
        assert (channel.runs, bot.host.state) == (3, "up")
        await bot.channel.push("hello")
        assert (await bot.channel.pop()).text == "echo: hello"


async def test_a_channel_that_gives_signs_of_life_is_left_alone() -> None:
    channel = Hanging()
    async with standing() as home, gateway(channel=channel, home=home) as bot:
        for _ in range(10):
            channel.beating.set()
            await pass_seconds(bot, 15)
        assert (channel.runs, bot.host.state) == (1, "up")


async def test_a_channel_that_never_comes_up_is_started_again_too() -> None:
    class Dumb(FakeChannel):
        async def run(self, intake: Intake) -> None:
            self.runs += 1
            await asyncio.Event().wait()

    channel = Dumb(capabilities=Capabilities(heartbeat=10))
    async with standing() as home, gateway(channel=channel, home=home) as bot:
        await pass_seconds(bot, 120)
        assert channel.runs > 2
        assert bot.host.state == "wedged"
