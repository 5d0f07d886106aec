"""How often a loop looks at the store: often while something happens, rarely else."""

from __future__ import annotations

import asyncio

from nanobot.messages import EventKind, RunEvent
from nanobot.plugins.common.times.looks import Looks, stirred
from nanobot.plugins.library.message_bus import MessageBus
from nanobot.testing.machine import ManualClock

LASTING = 20.0


def looks_of(clock: ManualClock) -> Looks:
    return Looks(clock, often=2.0, lasting=LASTING)


def ended() -> RunEvent:
    return RunEvent(
        run_id="r",
        session_key="telegram:1",
        model_call=0,
        seq=1,
        kind=EventKind.END,
        at=0.0,
        payload={},
    )


async def looked(looks: Looks, clock: ManualClock, seconds: int) -> int:
    """How often it looks within so many seconds."""
    count = 0

    async def looking() -> None:
        nonlocal count
        while True:
            await looks.due()
            count += 1

    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(looking())
        for _ in range(seconds * 2):
            for _turn in range(8):
                await asyncio.sleep(0)
            clock.advance(0.5)
        task.cancel()
    return count


async def test_a_loop_looks_rarely_while_nothing_happens_and_often_after_an_event() -> None:
    bus, clock = MessageBus(), ManualClock(instant=False)
    looks = looks_of(clock)
    with stirred(looks, bus, EventKind.END):
        clock.advance(LASTING)
        assert await looked(looks, clock, 1_200) in (3, 4)
        bus.emit(ended())
        assert await looked(looks, clock, 20) in (9, 10, 11)
        assert await looked(looks, clock, 1_200) <= 5
    bus.emit(ended())
    assert await looked(looks, clock, 200) <= 1


async def test_a_loop_that_rests_looks_as_soon_as_something_happens() -> None:
    clock = ManualClock(instant=False)
    looks = looks_of(clock)
    clock.advance(LASTING)
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(looks.due())
        await clock.asleep()
        clock.advance(100)
        looks.stir()
        for _ in range(10):
            await asyncio.sleep(0)
        clock.advance(0)
        await waiting


async def test_what_is_due_earlier_is_not_waited_for_longer() -> None:
    clock = ManualClock()
    looks = looks_of(clock)
    for lasting in (0.0, LASTING):
        clock.advance(lasting)
        before = clock.monotonic()
        await looks.due(1.5)
        assert clock.monotonic() - before == 1.5
