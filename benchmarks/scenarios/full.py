"""What a store that is years old adds to everything that a gateway does."""

from __future__ import annotations

import asyncio
import shutil
import statistics
from collections.abc import Sequence
from pathlib import Path

from benchmarks.figures import Measure, Sample, Scenario
from benchmarks.filled import fill_home
from benchmarks.filled_rows import Size
from benchmarks.scenarios.life import QUIET
from benchmarks.scenarios.talking import WARM, crowd, one_person, rounds
from benchmarks.stage import Stage, Subject

_NEW, _FULL = "new", "full"
_TIMES = 2
_CATCH_UP_SECONDS = 300.0
_QUIET_MS = 20.0
"""CPU in a second without work."""

_FIGURES = {
    "poll": ("start to first poll", "s"),
    "idle": ("memory, idle", "MB"),
    "turn": ("overhead of a turn, median", "ms"),
    "turn cpu": ("CPU per turn", "ms"),
    "round": ("overhead of a tool round", "ms"),
    "round cpu": ("CPU per tool round", "ms"),
    "flood cpu": ("CPU per turn in a flood", "ms"),
}


async def full(stage: Stage, _: Subject) -> Sample:
    """Start, memory, a turn, a tool round and a flood with a store of 100,000 messages, 10,000
    chats, 10,000 jobs and 10,000 memories, and by turns with a new one: figures, and ratios.

    All who write have written before, and a few jobs are due meanwhile, as in life. Each home was
    started once, and what is indexed after such a filling is indexed.
    """
    samples: dict[str, list[Sample]] = {_NEW: [], _FULL: []}
    years = stage.home()
    await fill_home(years, Size(*stage.effort.filled))
    stage.busy = True
    await _settled(stage, years)
    for number in range(_TIMES):
        for which in (_NEW, _FULL) if number % 2 == 0 else (_FULL, _NEW):
            stage.busy = which == _FULL
            home = stage.home()
            if stage.busy:
                await asyncio.to_thread(shutil.copytree, years, home, dirs_exist_ok=True)
            else:
                await _settled(stage, home)
            samples[which].append(await _lived(stage, home, which))
    stage.busy = False
    return {
        key: value
        for name in _FIGURES
        for key, value in _compared(name, samples[_NEW], samples[_FULL]).items()
    }


async def _settled(stage: Stage, home: Path) -> None:
    """Start a home for the first time, and let it catch up."""
    async with stage.gateway(Subject.NANOBOT, home) as gateway:
        await stage.converse([WARM], 1)
        quiet = 0
        async with asyncio.timeout(_CATCH_UP_SECONDS):
            while quiet < 2:
                before = gateway.cpu()
                await asyncio.sleep(1.0)
                quiet = quiet + 1 if gateway.cpu().since(before) < _QUIET_MS else 0


def _compared(name: str, new: Sequence[Sample], filled: Sequence[Sample]) -> Sample:
    before = statistics.mean(sample[name] for sample in new)
    after = statistics.mean(sample[name] for sample in filled)
    return {name: after, f"{name} ratio": after / before}


async def _lived(stage: Stage, home: Path, which: str) -> Sample:
    async with stage.starting(Subject.NANOBOT, home) as gateway:
        polled = await stage.first_poll(gateway)
        await asyncio.sleep(QUIET)
        idle = gateway.resident()
        talk, cpu = await one_person(stage, gateway)
        work = await rounds(stage, gateway, which)
        flood = await crowd(stage, gateway)
    return {
        "poll": polled,
        "idle": idle,
        "turn": talk.median,
        "turn cpu": cpu / talk.turns,
        "round": work["round"],
        "round cpu": work["cpu"],
        "flood cpu": flood["cpu"],
    }


FULL = Scenario(
    "full",
    [
        measure
        for name, (title, unit) in _FIGURES.items()
        for measure in (
            Measure(name, f"{title}, store of years", unit),
            Measure(f"{name} ratio", "the same over that with a new store", ""),
        )
    ],
    full,
    subjects=(Subject.NANOBOT,),
)
