"""The checks of triggers that are shipped for authors find what they look for, and ours pass."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from nanobot.messages import Address
from nanobot.plugins.common.jobs.triggers import Publisher, Trigger
from nanobot.plugins.events.event_queue import EventOptions
from nanobot.plugins.events.sensor import SensorEvent
from nanobot.plugins.events.trigger import Events
from nanobot.plugins.heartbeat.heartbeat import FILE, ChatSituation, Heartbeat, HeartbeatSchedule
from nanobot.plugins.hooks.settings import HookSettings
from nanobot.plugins.hooks.webhook import Webhook
from nanobot.testing import triggers
from nanobot.testing.machine import ManualClock

INTERVAL = 1_800.0


class Bell:
    """A trigger over a queue. `flaw`: what it does wrong."""

    def __init__(self, rung: asyncio.Queue[str], flaw: str = "") -> None:
        self._rung = rung
        self._flaw = flaw

    async def run(self, publisher: Publisher) -> None:
        while True:
            what = await self._rung.get()
            taken = await publisher.publish(f"Somebody rang: {what}", key=what)
            if self._flaw == "twice":
                await publisher.publish(f"Somebody rang: {what}")
            if self._flaw == "ends" or (self._flaw == "proud" and taken == "full"):
                return


class Door:
    """See nanobot.testing.triggers.TriggerSource."""

    def __init__(self, flaw: str = "") -> None:
        self._rung: asyncio.Queue[str] = asyncio.Queue()
        self._flaw = flaw

    def trigger(self) -> Trigger:
        return Bell(self._rung, self._flaw)

    async def happen(self, what: str) -> None:
        self._rung.put_nowait(what)


class Running:
    """A trigger that is a function of its publisher."""

    def __init__(self, run: Callable[[Publisher], Awaitable[None]]) -> None:
        self._run = run

    async def run(self, publisher: Publisher) -> None:
        await self._run(publisher)


class Quiet:
    """See triggers.heartbeat.ChatHistory: one owner, who said nothing lately."""

    async def home(self) -> Address | None:
        return Address("fake", "1")

    async def around(self, address: Address, limit: int) -> ChatSituation:
        return ChatSituation(session_key=str(address))

    async def greeted(self, person: str) -> float | None:
        return None

    async def busy(self, session_key: str) -> bool:
        return False


class Beats:
    """The heartbeat. What happens is that somebody writes into its file, and then a beat."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._clock = ManualClock(instant=False)

    def trigger(self) -> Trigger:
        async def able() -> bool:
            return True

        async def run(publisher: Publisher) -> None:
            await Heartbeat(
                self._folder,
                HeartbeatSchedule(interval=INTERVAL),
                Quiet(),
                self._clock,
                lambda address, around: publisher,
                able,
            ).run(publisher)

        return Running(run)

    async def happen(self, what: str) -> None:
        await self._clock.asleep()
        (self._folder / FILE).write_text(f"- Look after the {what}.")
        self._clock.advance(INTERVAL)


class Deliveries:
    """A webhook whose sender delivers again what was not taken, as senders do."""

    def __init__(self) -> None:
        self._sent: asyncio.Queue[str] = asyncio.Queue()
        self._clock = ManualClock()

    def trigger(self) -> Trigger:
        settings = HookSettings(style="bearer", secret="sesame")
        known = {"authorization": "Bearer sesame", "content-type": "application/json"}

        async def run(publisher: Publisher) -> None:
            hook = Webhook("door", settings, publisher, self._clock)
            while True:
                what = await self._sent.get()
                for _ in range(3):
                    headers = {**known, "idempotency-key": what}
                    reply = await hook.take(headers, b'{"rang": "%s"}' % what.encode())
                    assert reply.status in {200, 202, 429, 503}

        return Running(run)

    async def happen(self, what: str) -> None:
        self._sent.put_nowait(what)


class Birds:
    """A sensor of what was seen; its state is how many have been told."""

    name = "birds"
    every = 10.0
    kind = int

    def __init__(self) -> None:
        self.seen_yet: list[str] = []

    async def read(self, state: int | None) -> list[str]:
        return list(self.seen_yet)

    def judge(
        self, reading: list[str], state: int | None, now: float
    ) -> tuple[SensorEvent | None, int]:
        new = reading[state or 0 :]
        return (SensorEvent(at=now, text=f"{', '.join(new)}!") if new else None), len(reading)

    def seen(self, reading: list[str]) -> str:
        return f"{len(reading)} birds"

    async def close(self) -> None:
        """Nothing is held."""


class Watching:
    """The trigger of events, over a sensor and what is kept through restarts."""

    def __init__(self) -> None:
        self._birds = Birds()
        self._body: bytes | None = None
        self._clock = ManualClock()

    async def kept(self, name: str) -> bytes | None:
        return self._body

    async def keep(self, name: str, body: bytes) -> None:
        self._body = body

    def trigger(self) -> Trigger:
        options = EventOptions(host="box", zone="UTC", prompts={}, prompt="", per_hour=100)

        async def run(publisher: Publisher) -> None:
            await Events([self._birds], options, self, self._clock, publisher).run(publisher)

        return Running(run)

    async def happen(self, what: str) -> None:
        self._birds.seen_yet.append(what)


@pytest.mark.parametrize("check", triggers.CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("source", ["door", "heartbeat", "hook", "events"])
async def test_a_trigger_keeps_what_the_port_promises(
    source: str, check: triggers.Check, tmp_path: Path
) -> None:
    sources: dict[str, Callable[[], triggers.TriggerSource]] = {
        "door": Door,
        "heartbeat": lambda: Beats(tmp_path),
        "hook": Deliveries,
        "events": Watching,
    }
    await check(sources[source]())


@pytest.mark.parametrize(
    ("flaw", "check", "promise"),
    [
        ("twice", triggers.publishes_what_happens, "once, not more often"),
        ("ends", triggers.publishes_what_happens, "run continues until it is cancelled"),
        ("proud", triggers.goes_on_when_it_is_not_taken, "run continues when the queue is full"),
    ],
)
async def test_a_triggers_broken_promise_is_named(
    flaw: str, check: triggers.Check, promise: str
) -> None:
    with pytest.raises((AssertionError, ExceptionGroup)) as failed:
        await check(Door(flaw))
    group = failed.value if isinstance(failed.value, ExceptionGroup) else None
    reason = str(group.exceptions[0]) if group is not None else str(failed.value)
    assert promise in reason
