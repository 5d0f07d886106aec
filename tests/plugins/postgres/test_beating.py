"""The beats of a process: one for all that wait, in time, and again soon where the store fails."""

from __future__ import annotations

import asyncio

from nanobot.errors import StoreUnwritable
from nanobot.plugins.postgres.store.beats import Beat, Beats, Held, Numbered
from nanobot.plugins.postgres.store.lease_terms import CHANNEL
from nanobot.testing.machine import ManualClock


class Leases:
    """A store that counts the beats, and shows what is given."""

    def __init__(self) -> None:
        self.beats = 0
        self.found = Beat()
        self.broken = False

    async def hold_channel(self, channel: str, *, shares: bool = False) -> bool:
        return True

    async def leave_channel(self, channel: str) -> None:
        pass

    async def beat(self, line: str = "") -> Beat:
        self.beats += 1
        if self.broken:
            raise StoreUnwritable("the database is gone")
        return self.found

    async def free_dead(self, owner: str) -> bool:
        return True


async def test_all_that_wait_get_the_same_beat() -> None:
    leases, clock = Leases(), ManualClock()
    beats = Beats(leases, clock)
    begun = clock.monotonic()
    numbered = await asyncio.gather(*(beats.after(0) for _ in range(5)))
    assert numbered == [Numbered(1, begun + CHANNEL.renew, leases.found)] * 5
    assert leases.beats == 1


async def test_another_one_does_it_where_the_first_that_waits_is_cancelled() -> None:
    leases, clock = Leases(), ManualClock(instant=False)
    beats = Beats(leases, clock)
    async with asyncio.TaskGroup() as tasks:
        first = tasks.create_task(beats.after(0))
        second = tasks.create_task(beats.after(0))
        await clock.asleep()
        first.cancel()
        await clock.asleep()
        clock.advance(CHANNEL.renew)
        assert (await second).number == 1


async def test_a_beat_that_failed_is_done_again_soon_and_one_can_be_hurried() -> None:
    leases, clock = Leases(), ManualClock()
    beats, leases.broken = Beats(leases, clock), True
    number, _, found = await beats.after(0)
    assert found is None
    leases.broken, before = False, clock.monotonic()
    number, began, found = await beats.after(number)
    assert (found, began - before) == (leases.found, 1.0)
    beats.hurry(0.5)
    assert (await beats.after(number)).began - began == 0.5


async def test_the_end_of_a_lease_that_another_process_does_not_renew_is_seen_in_time() -> None:
    leases, clock = Leases(), ManualClock()
    beats = Beats(leases, clock)
    leases.found = Beat(others={"telegram": Held("other", 3.0, connected=True)})
    _, first, _ = await beats.after(0)
    leases.found = Beat(others={"telegram": Held("other", -1.0, connected=True)})
    _, second, _ = await beats.after(1)
    assert 3.0 < second - first < 3.5
    assert (await beats.after(2)).began - second == CHANNEL.renew
