"""Triggers are kept running."""

from __future__ import annotations

import asyncio
from typing import Any

from nanobot.plugins.common.jobs.plans import Plan
from nanobot.plugins.common.jobs.triggers import Publisher, Taken, Trigger
from nanobot.plugins.jobs.triggers import GatheredTriggers
from nanobot.supervision import side_by_side
from nanobot.system import Zone
from nanobot.testing.machine import ManualClock


class Nothing:
    """No plugin brings anything, and nothing is published."""

    def each(self, field: str, use: Any) -> list[Any]:
        return []

    def publisher(self, plan: Plan) -> Any:
        return None


async def supervise(triggers: dict[str, tuple[Trigger, Publisher]], clock: ManualClock) -> None:
    """Run these triggers, as a gateway does."""
    nothing: Any = Nothing()
    gathered = GatheredTriggers({}, nothing, nothing, Zone("UTC"))
    gathered.gather()
    gathered.each |= triggers
    await side_by_side(gathered.works(), clock)


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
