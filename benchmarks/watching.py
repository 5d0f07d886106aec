"""What it costs to watch a machine on which nothing happens.

    python -m benchmarks.watching [SECONDS]

Everything that is watched by default, and besides two programs, two folders of 1,000 files and two
logs of which one grows by a line each second that nobody looks for. The processor time is that of
this process with its children; nothing else runs in it.
"""

from __future__ import annotations

import asyncio
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

from nanobot.plugins.common.jobs.triggers import Taken
from nanobot.plugins.events.event_queue import EventOptions
from nanobot.plugins.events.sensors import sensors_of
from nanobot.plugins.events.settings import (
    EventsSettings,
    FilesSettings,
    LogSettings,
    ProcessSettings,
)
from nanobot.plugins.events.trigger import Events
from nanobot.system import SystemClock


class Memory:
    """Keeps in memory, and counts."""

    def __init__(self) -> None:
        self.bodies: dict[str, bytes] = {}
        self.writes = 0

    async def kept(self, name: str) -> bytes | None:
        return self.bodies.get(name)

    async def keep(self, name: str, body: bytes) -> None:
        self.bodies[name] = body
        self.writes += 1


class Told:
    def __init__(self) -> None:
        self.texts: list[str] = []

    async def publish(self, text: str, *, key: str = "") -> Taken:
        self.texts.append(text)
        return "taken"


def settings_of(folder: Path) -> EventsSettings:
    folders = [folder / "inbox", folder / "papers"]
    for one in folders:
        one.mkdir()
        for number in range(1_000):
            (one / f"{number}.txt").touch()
    logs = [folder / "busy.log", folder / "quiet.log"]
    for log in logs:
        log.touch()
    return EventsSettings(
        enabled=True,
        processes={name: ProcessSettings(process=name) for name in ("python", "nothing-like-it")},
        files={one.name: FilesSettings(paths=(str(one),)) for one in folders},
        logs={log.stem: LogSettings(path=str(log), pattern="error") for log in logs},
    )


def used() -> float:
    """Seconds of processor time so far."""
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(sum(resource.getrusage(one)[:2]) for one in whose)


async def main(seconds: float) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        settings, memory, told = settings_of(folder), Memory(), Told()
        sensors, lacking = sensors_of(settings)
        print(*lacking, sep="\n")
        terms = EventOptions(host="here", zone="UTC", prompts={}, prompt="", per_hour=12)
        events = Events(sensors, terms, memory, SystemClock(), told)
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(events.run(told))
            await asyncio.sleep(5)  # what is done once
            began, before, writes = time.monotonic(), used(), memory.writes
            while time.monotonic() - began < seconds:
                await asyncio.sleep(1)
                with (folder / "busy.log").open("a") as log:
                    log.write("all is well\n")
            passed, spent = time.monotonic() - began, used() - before
            running.cancel()
        for watch, seen in events.seen().items():
            print(f"{watch}: {seen}")
        print(
            f"{passed:.0f} s: {spent:.2f} s of processor time, {100 * spent / passed:.2f} % of one "
            f"core; kept {memory.writes - writes} times; told {len(told.texts)} times; "
            f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB; "
            f"{os.cpu_count()} cores"
        )


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1]) if len(sys.argv) > 1 else 600.0))
