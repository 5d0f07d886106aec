"""Which other processes live, as the beats show, and what is done when one does not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from nanobot.plugins.postgres.processes.living import DOUBT_SECONDS, SETTLED_SECONDS, Living
from nanobot.plugins.postgres.processes.looks import PeerLooks
from nanobot.plugins.postgres.processes.presence import Presence
from nanobot.plugins.postgres.processes.signals import Dead, Here, Look, Signal
from nanobot.plugins.postgres.processes.telling import Telling
from nanobot.plugins.postgres.store.beats import Beat, Beats, Held
from nanobot.plugins.postgres.store.identity import name_of, process_name
from nanobot.plugins.postgres.store.lease_terms import CHANNEL
from nanobot.plugins.postgres.store.notices import Notices
from nanobot.testing.machine import ManualClock

OTHER = "other-1"
NAME = name_of(OTHER)


class Leases:
    """What a store shows of one other process; `freed` are the owners that were taken for dead."""

    def __init__(self) -> None:
        self.left, self.connected = 16.0, True
        self.newest = (0, 0)
        self.freed: list[str] = []

    async def hold_channel(self, channel: str, *, shares: bool = False) -> bool:
        return True

    async def leave_channel(self, channel: str) -> None:
        pass

    async def beat(self, line: str = "") -> Beat:
        held = Held(OTHER, self.left, self.connected)
        others = {} if OTHER in self.freed else {process_name(NAME): held, "telegram": held}
        return Beat(others=others, newest=self.newest)

    async def free_dead(self, owner: str) -> bool:
        self.freed.append(owner)
        return True


class Unheard(Notices):
    """A line that nobody listens at."""

    def __init__(self, since: float) -> None:
        self.own = "me"
        self.listening_since = since


class Watching:
    """A process that looks at another one."""

    def __init__(self) -> None:
        self.leases, self.clock = Leases(), ManualClock(instant=False)
        self.presence = Presence("me", self.clock)
        self.notices = Unheard(self.clock.monotonic())
        self.telling = Telling(self.notices, self.clock)
        self.looks = PeerLooks(self.clock, lambda: True)
        self.beats = Beats(self.leases, self.clock)
        self.strangers = 0

    def beaten(self, *, strangers: bool) -> None:
        self.strangers += strangers

    def meet(self) -> None:
        self.presence.take(NAME, Here(NAME, True, False, ("telegram",), beats=True))

    async def pass_seconds(self, seconds: float) -> None:
        for _ in range(round(seconds * 4)):
            for _turn in range(12):
                await asyncio.sleep(0)
            self.clock.advance(0.25)

    def told(self, signal: Signal) -> bool:
        return signal in [said for _, said in self.telling._waiting.values()]


@pytest.fixture
async def watching() -> AsyncIterator[Watching]:
    async with following(Watching()) as begun:
        yield begun


@asynccontextmanager
async def following(begun: Watching) -> AsyncIterator[Watching]:
    living = Living(
        *(begun.presence, begun.telling, begun.looks, begun.beats, begun.notices, begun.clock)
    )
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(living.follow(begun.beaten))
        yield begun
        task.cancel()


async def test_a_process_that_is_connected_lives_though_it_says_nothing(watching: Watching) -> None:
    watching.meet()
    await watching.pass_seconds(300)
    assert NAME in watching.presence.alive()
    assert watching.leases.freed == []
    assert watching.strangers == 0
    assert not watching.looks.often()


async def test_a_process_that_is_not_connected_any_more_is_dead_soon(watching: Watching) -> None:
    watching.meet()
    await watching.pass_seconds(60)
    watching.leases.connected = False
    await watching.pass_seconds(CHANNEL.renew + DOUBT_SECONDS + 0.5)
    assert watching.leases.freed == [OTHER]
    assert watching.presence.alive() == {}
    assert watching.told(Dead(NAME))
    assert watching.looks.often()


async def test_a_connection_that_is_back_at_once_is_no_death(watching: Watching) -> None:
    watching.meet()
    await watching.pass_seconds(60)
    for _ in range(20):
        watching.leases.connected = False
        await watching.pass_seconds(1.5)
        watching.leases.connected = True
        await watching.pass_seconds(CHANNEL.renew)
    assert watching.leases.freed == []


async def test_after_a_restart_of_the_database_the_others_get_time_to_come_back() -> None:
    begun = Watching()
    begun.leases.connected = False
    async with following(begun) as watching:
        watching.meet()
        await watching.pass_seconds(SETTLED_SECONDS - 1)
        assert watching.leases.freed == []
        await watching.pass_seconds(3)
        assert watching.leases.freed == [OTHER]


async def test_a_process_that_is_stopped_is_not_counted_on_but_keeps_its_leases(
    watching: Watching,
) -> None:
    watching.meet()
    await watching.pass_seconds(60)
    watching.leases.left = -0.5
    await watching.pass_seconds(CHANNEL.renew + 1)
    assert watching.presence.alive() == {}
    assert watching.leases.freed == []
    assert watching.looks.often()


async def test_a_process_that_was_not_heard_of_is_asked(watching: Watching) -> None:
    await watching.pass_seconds(CHANNEL.renew + 1)
    assert watching.strangers == 1
    watching.meet()
    await watching.pass_seconds(60)
    assert watching.strangers == 1


async def test_a_message_that_nobody_told_of_is_looked_for(watching: Watching) -> None:
    await watching.pass_seconds(60)
    assert not watching.looks.often()
    watching.leases.newest = (0, 7)
    await watching.pass_seconds(CHANNEL.renew + 1)
    assert watching.looks.often()
    await watching.pass_seconds(60)
    assert not watching.looks.often()


async def test_the_others_look_where_something_could_not_be_told(watching: Watching) -> None:
    watching.telling.lost = True
    await watching.pass_seconds(CHANNEL.renew + 1)
    assert watching.told(Look())
    assert not watching.telling.lost
