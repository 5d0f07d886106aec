"""Of several processes over one store, one serves a channel; another takes over when it is gone."""

from __future__ import annotations

import asyncio
from pathlib import Path

from nanobot.errors import StoreUnwritable
from nanobot.messages import Attachment
from nanobot.plugins.postgres.processes.channel_lease import ChannelLease
from nanobot.plugins.postgres.processes.sharing import Leased
from nanobot.plugins.postgres.store.beats import Beat, Beats, Held
from nanobot.plugins.postgres.store.lease_terms import CHANNEL
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway, MemoryHome, Options
from nanobot.testing.machine import ManualClock
from tests.channels.test_attachments import received
from tests.doubles.files_channel import FilesChannel

SHARED = Options(sharing=Leased)


class Leases:
    """A store that another process writes too: `other` has the channel."""

    def __init__(self) -> None:
        self.other = False
        self.broken = False
        self.held = False
        self.begun = asyncio.Event()
        self.under_way: asyncio.Event | None = None

    async def hold_channel(self, channel: str, *, shares: bool = False) -> bool:
        if self.broken:
            raise StoreUnwritable("the database is gone")
        self.held = not self.other
        return self.held

    async def leave_channel(self, channel: str) -> None:
        self.held = False

    async def beat(self, line: str = "") -> Beat:
        if self.broken:
            raise StoreUnwritable("the database is gone")
        self.held = self.held and not self.other
        ours = frozenset({"telegram"} if self.held else ())
        self.begun.set()
        if self.under_way is not None:
            await self.under_way.wait()
        others = {"telegram": Held("other", 12.0, connected=True)} if self.other else {}
        return Beat(ours, others)

    async def free_dead(self, owner: str) -> bool:
        return False


async def test_a_channel_of_another_process_is_waited_for() -> None:
    leases, clock = Leases(), ManualClock(instant=False)
    lease = ChannelLease("telegram", Beats(leases, clock), clock)
    leases.other = True
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(lease.wait())
        for broken in (False, True):
            leases.broken = broken
            await clock.asleep()
            clock.advance(CHANNEL.renew)
        await clock.asleep()
        assert not waiting.done()
        leases.broken = leases.other = False
        clock.advance(CHANNEL.renew)
    assert leases.held


async def test_a_lease_is_lost_when_another_process_has_it() -> None:
    leases, clock = Leases(), ManualClock()
    leases.other = True
    await ChannelLease("telegram", Beats(leases, clock), clock).keep()
    assert clock.sleeps == [CHANNEL.renew]


async def test_a_lease_that_cannot_be_renewed_is_let_go_before_it_runs_out() -> None:
    leases, clock = Leases(), ManualClock()
    leases.broken = True
    await ChannelLease("telegram", Beats(leases, clock), clock).keep()
    assert CHANNEL.give_up <= sum(clock.sleeps) < CHANNEL.seconds


async def test_a_beat_that_began_before_a_lease_was_taken_does_not_end_it() -> None:
    leases, clock = Leases(), ManualClock(instant=False)
    beats, leases.under_way = Beats(leases, clock), asyncio.Event()
    lease = ChannelLease("telegram", beats, clock)
    async with asyncio.TaskGroup() as tasks:
        other = tasks.create_task(beats.after(0))
        await clock.asleep()
        clock.advance(CHANNEL.renew)
        await leases.begun.wait()
        clock.advance(1)
        assert await lease.take()
        keeping = tasks.create_task(lease.keep())
        await asyncio.sleep(0)
        leases.under_way.set()
        await other
        await clock.asleep()
        assert not keeping.done()
        keeping.cancel()


async def pass_seconds(bot: FakeGateway, seconds: float) -> None:
    assert isinstance(bot.home.clock, ManualClock)
    for _ in range(int(seconds)):
        bot.home.clock.advance(1)
        await bot.settle()


async def test_a_process_without_the_store_stops_serving_and_comes_back() -> None:
    clock = ManualClock(instant=False)
    async with MemoryHome(clock) as home, gateway(home=home, options=SHARED) as bot:
        await bot.channel.push("hello")
        assert (await bot.channel.pop()).text == "echo: hello"
        await bot.settle()
        broken = True

        def before(verb: str) -> None:
            if broken:
                raise StoreUnwritable("the database is gone")

        bot.process.before = before
        await pass_seconds(bot, 30)
        assert (bot.host.state, bot.channel.runs) == ("standby", 1)
        broken = False
        await pass_seconds(bot, 5)
        assert (bot.host.state, bot.channel.runs) == ("up", 2)
        await bot.channel.push("again")
        await pass_seconds(bot, 5)
        assert (await bot.channel.pop()).text == "echo: again"


async def test_files_are_fetched_by_whoever_serves_their_channel_and_again_when_it_is_back(
    tmp_path: Path,
) -> None:
    clock, channel = ManualClock(instant=False), FilesChannel()
    channel.put("doc", b"hello")
    channel.held["doc"] = asyncio.Event()
    options = Options(sharing=Leased, received=received(tmp_path))
    async with (
        MemoryHome(clock) as home,
        gateway(channel=channel, home=home, options=options) as bot,
    ):
        await channel.push("look", attachments=(Attachment("document", ref="doc", name="a.txt"),))
        await pass_seconds(bot, 1)
        assert channel.fetched == ["doc"]
        broken = True

        def before(verb: str) -> None:
            if broken:
                raise StoreUnwritable("the database is gone")

        bot.process.before = before
        await pass_seconds(bot, 30)
        assert bot.host.state == "standby"
        channel.held["doc"].set()
        broken = False
        await pass_seconds(bot, 5)
        assert channel.fetched == ["doc", "doc"]
        assert "look" in (await channel.pop()).text
