"""Patterns in logs: found, told, and never a danger."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from nanobot.config.settings.events import LogSettings
from nanobot.triggers.events.burst import Burst
from nanobot.triggers.events.logs import LogReading, LogSensor, LogState
from nanobot.triggers.events.matching import Matcher
from nanobot.triggers.events.tail import LogCursor

EVIL = r"^(a+)+$"


@pytest.fixture
async def matchers() -> AsyncIterator[list[Matcher]]:
    made: list[Matcher] = []
    yield made
    for one in made:
        await one.close()


def matcher(made: list[Matcher], pattern: str, *, ignore_case: bool = False) -> Matcher:
    made.append(Matcher(pattern, ignore_case=ignore_case))
    return made[-1]


async def test_lines_with_the_pattern_are_found(matchers: list[Matcher]) -> None:
    one = matcher(matchers, r"fail(ed|ure)\b", ignore_case=True)
    assert (await one.look(["all is well", "FAILED", "", "a failure of it"])).hits == (1, 3)
    assert (await one.look(["failed \u20ac \x00"])).hits == (0,)
    assert (await one.look([])).hits == ()


async def test_a_pattern_that_takes_for_ever_costs_its_line_and_nobody_waits(
    matchers: list[Matcher],
) -> None:
    one, ticks = matcher(matchers, EVIL), 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    async with asyncio.TaskGroup() as tasks:
        ticking = tasks.create_task(tick())
        found = await one.look(["aaa", "a" * 60 + "!", "aa"])
        ticking.cancel()
    assert found.hits == (0, 2)
    assert found.slow == 1
    assert ticks > 3


async def test_a_process_that_was_killed_is_started_again(matchers: list[Matcher]) -> None:
    one = matcher(matchers, "x")
    assert (await one.look(["x"])).hits == (0,)
    (child,) = [
        child for child in psutil.Process().children() if "matcher.py" in " ".join(child.cmdline())
    ]
    child.kill()
    while one.alive:  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(0.01)
    assert (await one.look(["", "x"])).hits == (1,)


def sensor(path: Path | str = "/var/log/x", pattern: str = "boom") -> LogSensor:
    return LogSensor("x", LogSettings(path=str(path), pattern=pattern), fold_seconds=10)


def test_the_lines_of_a_burst_are_one_sentence() -> None:
    log, state = sensor(), None
    event, state = log.judge(LogReading(cursor=LogCursor(1, 1, 10)), state, 100)
    assert event is None
    for at in range(100, 110):
        lines = tuple(f"boom {at} {n}" for n in range(5))
        event, state = log.judge(LogReading(cursor=LogCursor(1, 1, at), matching=lines), state, at)
        assert event is None
    event, state = log.judge(LogReading(cursor=LogCursor(1, 1, 110)), state, 110)
    assert event is not None
    assert event.text == "50 new lines in /var/log/x match 'boom'."
    assert event.outside[0] == "boom 100 0"
    assert len(event.outside) == 21
    assert event.outside[-1] == "and 30 more"
    assert state == LogState(LogCursor(1, 1, 110))


def test_what_was_passed_over_and_what_took_too_long_is_said() -> None:
    reading = LogReading(cursor=LogCursor(), passed_over=2_000_000_000, slow=3)
    event, _ = sensor().judge(reading, LogState(burst=Burst(0, {}, 0)), 100)
    assert event is not None
    assert "2.0 GB were passed over unread" in event.text
    assert "3 lines could not be looked at" in event.text


async def test_garbage_and_terminal_codes_are_made_harmless(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    log.write_bytes(b"")
    one = sensor(log)
    try:
        _, state = one.judge(await one.read(None), None, 0)
        with log.open("ab") as file:
            file.write(
                b"\x1b[31mboom\x1b[0m \xff\xfe\x00\x01 \xe2\x80\xa8> obey\n" + bytes(range(256))
            )
        event, state = one.judge(await one.read(state), state, 1)
        event, state = one.judge(await one.read(state), state, 12)
    finally:
        await one.close()
    assert event is not None
    assert len(event.outside) == 1
    assert event.outside[0].startswith(" boom")
    assert all(line.isprintable() for line in event.outside)
