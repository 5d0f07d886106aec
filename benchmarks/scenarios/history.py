"""What a long conversation costs."""

from __future__ import annotations

import asyncio
import shutil
import signal
import statistics
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from benchmarks.figures import Measure, Sample, Scenario
from benchmarks.stage import QUICK, SETTLE, Effort, Gateway, Stage, Subject, Talk

LONG = 1
OTHERS = 1_000
TEXT = (
    "This is a message of ordinary length, as people write them when they ask for something.\n"
    "say:And this is an answer of ordinary length, {word} in it, which says what was asked for."
)
PAUSE = 0.01


async def history(stage: Stage, subject: Subject) -> Sample:
    """One chat grows to 3,000 messages: the overhead of a turn, the bytes that it writes to disk
    and its fsyncs, at 10, 200, 1,000 and 3,000 messages.

    A gateway that reads or writes the whole conversation in each turn is quick in a benchmark of
    ten messages and slow in a life. Each figure is of the 50 turns up to its point, which is one
    round of nanobot's window, so that at every point but the first the model is sent the same
    number of messages; at 10, of the first five turns in ten chats. fsyncs are counted by strace,
    where there is one, in turns of their own. The floor keeps nothing, so one point is all its
    points.
    """
    async with stage.gateway(subject) as gateway:
        await stage.converse([OTHERS - 1], 5, TEXT, PAUSE)
        if subject is Subject.FLOOR:
            points = stage.effort.history
            figures = await _figures(stage, gateway, [LONG], stage.effort.window)
            return {f"{name} {point}": value for point in points for name, value in figures.items()}
        return await _grow(stage, gateway)


async def _grow(stage: Stage, gateway: Gateway) -> Sample:
    sample: dict[str, float] = {}
    chats, done = OTHERS, 0
    for point in stage.effort.history:
        turns, window = point // 2, stage.effort.window
        if turns < window:
            several = range(chats, chats + window // turns)
            figures = await _figures(stage, gateway, several, turns)
        else:
            await stage.converse([LONG], turns - window - done, TEXT)
            figures = await _figures(stage, gateway, [LONG], window)
            done = turns + stage.effort.traced * ("fsyncs" in figures)
        sample |= {f"{name} {point}": value for name, value in figures.items()}
    return sample


async def _figures(
    stage: Stage, gateway: Gateway, chats: Sequence[int], each: int
) -> dict[str, float]:
    before, begin = gateway.written(), gateway.cpu()
    talks = [await stage.converse([chat], each, TEXT, PAUSE) for chat in chats]
    after, cpu = gateway.written(), gateway.cpu().since(begin)
    turns = sum(talk.turns for talk in talks)
    figures = {
        "p50": statistics.median(ms for talk in talks for ms in talk.milliseconds),
        "cpu": cpu / turns,
        "sent": statistics.mean(count for talk in talks for count in talk.prompts),
    }
    if before is not None and after is not None:
        figures["written"] = (after - before) / turns / 1e3
    counted = await _fsyncs(stage, gateway, chats[0])
    return figures if counted is None else figures | {"fsyncs": counted}


async def _fsyncs(stage: Stage, gateway: Gateway, chat: int) -> float | None:
    """How often a turn waits for the disk; None where that cannot be seen."""
    if shutil.which("strace") is None:
        return None
    found = stage.folder / f"strace-{chat}"
    async with _traced(gateway.pid, found) as attached:
        talk = await stage.converse([chat], stage.effort.traced, TEXT, PAUSE) if attached else None
    return None if talk is None else _count(found, talk)


def _count(found: Path, talk: Talk) -> float:
    return found.read_text().count("sync(") / talk.turns


@asynccontextmanager
async def _traced(pid: int, found: Path) -> AsyncIterator[bool]:
    """strace at a process, noting fsync and fdatasync; False if it may not attach."""
    wanted = ("-f", "-qq", "-e", "trace=fsync,fdatasync", "-o", str(found), "-p", str(pid))
    quiet = asyncio.subprocess.DEVNULL
    strace = await asyncio.create_subprocess_exec("strace", *wanted, stdin=quiet, stderr=quiet)
    try:
        for _ in range(100):
            if strace.returncode is not None or _is_traced(pid):
                break
            await asyncio.sleep(0.02)
        await asyncio.sleep(SETTLE)
        yield strace.returncode is None
    finally:
        if strace.returncode is None:
            strace.send_signal(signal.SIGINT)
        await strace.wait()


def _is_traced(pid: int) -> bool:
    return "TracerPid:\t0\n" not in Path(f"/proc/{pid}/status").read_text()


def _measures(effort: Effort) -> list[Measure]:
    kinds = (
        ("p50", "turn, median, at {:,} messages", "ms"),
        ("cpu", "CPU per turn, at {:,}", "ms"),
        ("sent", "messages in a model call, mean, at {:,}", ""),
        ("written", "written to disk per turn, at {:,}", "KB"),
        ("fsyncs", "fsyncs per turn, at {:,}", ""),
    )
    points = sorted({*effort.history, *QUICK.history})
    return [
        Measure(f"{name} {point}", title.format(point), unit)
        for name, title, unit in kinds
        for point in points
    ]


HISTORY = Scenario("history", _measures(Effort()), history, versions=True)
