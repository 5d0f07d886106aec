"""Programs that end, are restarted and return."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import Process
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nanobot.plugins.events.processes import KnownProcesses, LiveProcess, ProcessSensor, span
from nanobot.plugins.events.sensor import SensorEvent, SensorUnreadable
from nanobot.plugins.events.settings import ProcessSettings

NAME = f"nanowatch{os.getpid() % 10_000}"


async def started(folder: Path) -> Process:
    """A program that is called NAME."""
    program = folder / NAME
    if not program.exists():
        program.symlink_to(sys.executable)
    script = "import sys; sys.stdout.write('up\\n'); sys.stdout.flush(); sys.stdin.read()"
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(program, "-c", script, stdin=pipe, stdout=pipe)
    assert process.stdout is not None
    await process.stdout.readline()
    return process


async def end(process: Process) -> None:
    process.kill()
    await process.wait()


async def test_a_real_program_ends_and_returns(tmp_path: Path) -> None:
    sensor, state = ProcessSensor("x", ProcessSettings(process=NAME)), None
    event, state = sensor.judge(await sensor.read(state), state, 0)
    assert event is None  # it did not run before either
    first = await started(tmp_path)
    event, state = sensor.judge(await sensor.read(state), state, 10)
    assert event is None
    assert state.alive[0].pid == first.pid
    await end(first)
    event, state = sensor.judge(await sensor.read(state), state, 20)
    assert event is not None
    assert event.text.startswith(f'The program "{NAME}" has ended (process {first.pid})')
    second = await started(tmp_path)
    event, state = sensor.judge(await sensor.read(state), state, 320)
    assert event is not None
    assert event.text == f'The program "{NAME}" runs again (process {second.pid}), after 5 minutes.'
    await end(second)
    third = await started(tmp_path)
    event, state = sensor.judge(await sensor.read(state), state, 330)
    await end(third)
    assert event is not None
    assert event.text == (
        f'The program "{NAME}" was restarted: process {second.pid} became process {third.pid}.'
    )


async def test_a_program_of_a_pid_file(tmp_path: Path) -> None:
    file = tmp_path / "x.pid"
    sensor = ProcessSensor("x", ProcessSettings(pid_file=str(file)))
    assert await sensor.read(None) == ()
    file.write_text("")
    assert await sensor.read(None) == ()
    file.write_text(f"{os.getpid()}\n")
    (alive,) = await sensor.read(None)
    assert alive.pid == os.getpid()
    assert sensor.seen((alive,)) == f"runs (process {os.getpid()})"
    for nonsense in (b"\xff\xfe", b"-4", b"0", b"999999999999"):
        file.write_bytes(nonsense)
        with pytest.raises(SensorUnreadable, match="does not hold the number of a process"):
            await sensor.read(None)
    file.unlink()
    file.mkdir()
    with pytest.raises(SensorUnreadable, match="cannot be read: Is a directory"):
        await sensor.read(None)


def judged(readings: list[tuple[LiveProcess, ...]]) -> list[SensorEvent]:
    sensor, state, events = ProcessSensor("x", ProcessSettings()), None, []
    for now, reading in enumerate(readings):
        event, state = sensor.judge(reading, state, 10.0 * now)
        events += [event] if event else []
    return events


def test_of_several_processes_one_is_enough() -> None:
    first, second, third = (LiveProcess(pid, 0.0) for pid in (1, 2, 3))
    assert judged([(first, second), (second,), (second, third), (third,)]) == []


@given(st.lists(st.sets(st.sampled_from([LiveProcess(pid, 1.0) for pid in range(1, 4)]))))
def test_an_end_is_told_once_and_only_what_had_ended_returns(
    readings: list[set[LiveProcess]],
) -> None:
    texts = [event.text for event in judged([tuple(sorted(reading)) for reading in readings])]
    kinds = [
        "end" if "has ended" in text else "back" if "runs again" in text else "new"
        for text in texts
    ]
    state = "unknown"
    for kind in kinds:
        assert (state, kind) not in {("end", "end"), ("end", "new"), ("unknown", "back")}
        assert kind != "back" or state == "end"
        state = kind


def test_what_ended_while_nobody_watched_is_told_at_the_next_start() -> None:
    sensor = ProcessSensor("x", ProcessSettings())
    event, state = sensor.judge((), KnownProcesses((LiveProcess(7, 0.0),)), 7_200.0)
    assert event is not None
    assert event.text == 'The program "x" has ended (process 7); it had run for 2 hours.'
    assert sensor.judge((), state, 7_300.0)[0] is None


def test_times_are_said_so_that_people_understand_them() -> None:
    assert [span(s) for s in (-1, 3, 119, 120, 7_200, 200_000)] == [
        "0 seconds",
        "3 seconds",
        "119 seconds",
        "2 minutes",
        "2 hours",
        "2 days",
    ]
