"""The trigger: what is noticed is told once, whatever ends in between."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from nanobot.config.loader import load
from nanobot.errors import StoreError
from nanobot.messages import Origin
from nanobot.plugins.common.jobs.plans import Plan
from nanobot.plugins.common.jobs.triggers import Taken
from nanobot.plugins.common.store.hooks import store_hooks
from nanobot.plugins.events.event_queue import EventOptions, EventQueue
from nanobot.plugins.events.sensor import SensorEvent, SensorOff, SensorUnreadable
from nanobot.plugins.events.sensors import INSTALL, prompts_of, sensors_of
from nanobot.plugins.events.service import triggers
from nanobot.plugins.events.settings import (
    EventsSettings,
    FilesSettings,
    LogSettings,
    ProcessSettings,
)
from nanobot.plugins.events.trigger import Events
from nanobot.plugins.jobs.plans import plan_of
from nanobot.store.opening import contexts
from nanobot.store.servers import open_store
from nanobot.system import RandomIds, SystemClock, Zone
from nanobot.testing.machine import ManualClock
from nanobot.tools.redact import Redactor


class Memory:
    """What is kept, through restarts."""

    def __init__(self) -> None:
        self.body: bytes | None = None
        self.writes = 0
        self.broken = False

    async def kept(self, name: str) -> bytes | None:
        return self.body

    async def keep(self, name: str, body: bytes) -> None:
        if self.broken:
            raise StoreError("the disk is full")
        self.body = body
        self.writes += 1

    @property
    def ledger(self) -> EventQueue:
        return msgspec.json.decode(self.body or b"{}", type=EventQueue)


class Jobs:
    """Takes what is published, by its key. `dies`: the process ends right after it was taken."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.full = 0
        self.dies = False

    async def publish(self, text: str, *, key: str = "") -> Taken:
        if self.full:
            self.full -= 1
            return "full"
        if key in self.texts:
            return "known"
        self.texts[key] = text
        if self.dies:
            self.dies = False
            raise Died
        return "taken"


class Died(BaseException):
    """The process ends here: no boundary holds it."""


class Counter:
    """Tells of every reading that is larger than all before; `script` are the readings."""

    every = 10.0
    kind = int

    def __init__(self, script: Sequence[int | Exception], *, outside: bool = False) -> None:
        self.name = "counter"
        self.script = list(script)
        self.outside = ("theirs",) if outside else ()
        self.closed = 0

    async def read(self, state: int | None) -> int:
        reading = self.script.pop(0) if self.script else 0
        if isinstance(reading, Exception):
            raise reading
        return reading

    def judge(self, reading: int, state: int | None, now: float) -> tuple[SensorEvent | None, int]:
        if reading <= (state or 0):
            return None, state or 0
        return SensorEvent(at=now, text=f"It is {reading}.", outside=self.outside), reading

    def seen(self, reading: int) -> str:
        return str(reading)

    async def close(self) -> None:
        self.closed += 1


TERMS = EventOptions(host="box", zone="UTC", prompts={}, prompt="", per_hour=100)


class Bench:
    def __init__(self, sensor: Any) -> None:
        self.clock = ManualClock(instant=False)
        self.memory = Memory()
        self.plain, self.outside = Jobs(), Jobs()
        self.sensor = sensor
        self.events = self.made()

    def made(self) -> Events:
        return Events([self.sensor], TERMS, self.memory, self.clock, self.outside)

    async def run(self, seconds: int, events: Events | None = None) -> None:
        """A life of so many seconds, ended by a cancellation or by Died."""
        try:
            async with asyncio.TaskGroup() as tasks:
                running = tasks.create_task((events or self.events).run(self.plain))
                for _ in range(seconds):
                    await settle()
                    self.clock.advance(1.0)
                await settle()
                running.cancel()
        except* (Died, StoreError):
            pass

    def told(self) -> list[str]:
        return [line for text in self.plain.texts.values() for line in text.splitlines()]


async def settle() -> None:
    for _ in range(30):
        await asyncio.sleep(0)


async def test_what_is_noticed_is_told_with_what_is_noticed_at_the_same_time() -> None:
    bench = Bench(Counter([1, 1, 2]))
    await bench.run(40)
    assert [line.partition(": ")[2] for line in bench.told() if "It is" in line] == [
        "It is 1.",
        "It is 2.",
    ]
    assert not bench.memory.ledger.waiting
    assert bench.memory.ledger.telling is None
    assert bench.sensor.closed == 1
    assert bench.events.seen()["counter"].startswith("0 (")


async def test_after_a_restart_nothing_is_told_again() -> None:
    bench = Bench(Counter([5]))
    await bench.run(20)
    bench.sensor = Counter([5, 5, 6])
    await bench.run(40, bench.made())
    assert sum("It is 5." in line for line in bench.told()) == 1
    assert sum("It is 6." in line for line in bench.told()) == 1


async def test_a_death_right_after_it_was_taken_tells_it_no_second_time() -> None:
    bench = Bench(Counter([5]))
    bench.plain.dies = True
    await bench.run(20)
    assert bench.memory.ledger.telling is not None
    await bench.run(20, bench.made())
    assert bench.memory.ledger.telling is None
    assert len(bench.plain.texts) == 1


async def test_while_too_much_waits_it_is_tried_again_with_the_same_key() -> None:
    bench = Bench(Counter([5]))
    bench.plain.full = 3
    await bench.run(120)
    assert len(bench.plain.texts) == 1


async def test_others_words_go_where_they_are_marked() -> None:
    bench = Bench(Counter([5], outside=True))
    await bench.run(20)
    assert not bench.plain.texts
    assert len(bench.outside.texts) == 1


async def test_a_sensor_in_trouble_is_asked_again_and_one_that_is_off_is_not() -> None:
    bench = Bench(
        Counter([SensorUnreadable("not now"), SensorUnreadable("not now"), ValueError("oops"), 3])
    )
    await bench.run(15)
    assert bench.events.seen()["counter"] == "not now"
    await bench.run(60, bench.made())
    assert any("It is 3." in line for line in bench.told())
    off = Bench(Counter([SensorOff("no such thing here"), 9]))
    await off.run(60)
    assert off.events.seen()["counter"] == "off: no such thing here"
    assert not off.plain.texts


async def test_a_store_in_trouble_loses_nothing() -> None:
    bench = Bench(Counter([4]))
    bench.memory.broken = True
    await bench.run(40)
    assert bench.told() == []
    bench.memory.broken = False
    await bench.run(40)  # the same one, as whoever keeps triggers running starts it again
    assert sum("It is 4." in line for line in bench.told()) == 1


async def test_nothing_is_written_while_nothing_changes() -> None:
    bench = Bench(Counter([]))
    await bench.run(600)
    assert bench.memory.writes == 1


async def test_what_cannot_be_read_any_more_begins_anew() -> None:
    bench = Bench(Counter([5]))
    bench.memory.body = b"\xff not json"
    await bench.run(20)
    assert len(bench.plain.texts) == 1


def test_what_lacks_a_package_is_left_out_and_named_with_the_remedy() -> None:
    settings = EventsSettings(
        processes={"nginx": ProcessSettings()},
        files={"inbox": FilesSettings(paths=("/in",))},
        logs={"a": LogSettings(path="/x", pattern=".", prompt="Look.")},
    )
    usable, lacking = sensors_of(settings)
    assert lacking == []
    assert len(usable) == 8
    usable, lacking = sensors_of(settings, lambda package: False)
    assert [sensor.name for sensor in usable] == ["logs.a", "units"]
    assert lacking == [
        "events.disk, events.memory, events.swap, events.load, events.processes.nginx: off, "
        f"because psutil is not installed: {INSTALL}",
        f"events.files.inbox: off, because watchfiles is not installed: {INSTALL}",
    ]
    assert prompts_of(settings) == {"logs.a": "Look."}


async def test_a_known_key_in_a_log_is_not_told(tmp_path: Path) -> None:
    told: list[str] = []

    class Told:
        def trigger_plan(self, name: str, to: str, origin: Origin, zone: str) -> Plan:
            return plan_of(name, to, origin, zone)

        def publisher(self, plan: Plan) -> Told:
            return self

        async def publish(self, text: str, *, key: str = "") -> Taken:
            told.append(text)
            return "taken"

    (tmp_path / "config.toml").write_text("")
    config = load({"NANOBOT_HOME": str(tmp_path)})
    store = open_store(
        tmp_path, "", contexts(SystemClock(), RandomIds(), store_hooks()), command="test", crash=""
    )
    try:
        settings = EventsSettings()
        jobs: Any = Told()
        redact = Redactor(["a-key-of-the-configuration"])
        made = triggers(settings, config, jobs, Zone("UTC"), store, redact)
        await made["events"][1].publish("error: a-key-of-the-configuration is refused")
    finally:
        await store.close()
    assert told == ["error: [secret] is refused"]
