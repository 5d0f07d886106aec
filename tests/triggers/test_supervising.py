"""Triggers are kept running."""

from __future__ import annotations

import asyncio

from nanobot.testing.machine import ManualClock
from nanobot.triggers.base import Publisher
from nanobot.triggers.jobs import Taken
from nanobot.triggers.supervisor import supervise


class Told:
    def __init__(self) -> None:
        self.texts: list[str] = []

    async def publish(self, text: str, *, key: str = "") -> Taken:
        self.texts.append(text)
        return "taken"


class Flaky:
    """Publishes, then fails."""

    async def run(self, publisher: Publisher) -> None:
        await publisher.publish("something")
        raise OSError("the sensor is gone")


class Steady:
    async def run(self, publisher: Publisher) -> None:
        await publisher.publish("all is well")
        await asyncio.Event().wait()


async def test_one_that_fails_is_started_again_after_growing_pauses_and_harms_no_other() -> None:
    clock, flaky, steady = ManualClock(instant=False), Told(), Told()
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(
            supervise({"flaky": (Flaky(), flaky), "steady": (Steady(), steady)}, clock)
        )
        counts = []
        for seconds in (0.0, 1.0, 1.0, 1.0, 4.0, 600.0):
            clock.advance(seconds)
            await settle()
            counts.append(len(flaky.texts))
        assert counts == [1, 2, 2, 3, 4, 5]
        assert steady.texts == ["all is well"]
        running.cancel()


async def test_one_that_ends_by_itself_is_not_started_again() -> None:
    class Once:
        async def run(self, publisher: Publisher) -> None:
            await publisher.publish("once")

    record = Told()
    await supervise({"once": (Once(), record)}, ManualClock())
    assert record.texts == ["once"]


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)
