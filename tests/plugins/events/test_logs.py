"""Patterns in logs: found, told, and never a danger."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from nanobot.plugins.common.threads import aside
from nanobot.plugins.events.burst import Burst
from nanobot.plugins.events.logs import LogReading, LogSensor, LogState, matches
from nanobot.plugins.events.sensor import SensorUnreadable
from nanobot.plugins.events.settings import LogSettings
from nanobot.plugins.events.tail import LogCursor

EVIL = r"^(a|aa)+$"


def test_lines_with_the_pattern_are_found() -> None:
    lines = ["all is well", "FAILED", "", "a failure of it", "failed \u20ac \x00"]
    assert matches(r"fail(ed|ure)\b", lines, ignore_case=True) == ([lines[1], *lines[3:]], 0)
    assert matches("x", []) == ([], 0)


def test_a_pattern_that_nothing_can_be_made_of_is_said() -> None:
    with pytest.raises(SensorUnreadable, match="cannot be used"):
        matches("(", ["x"])


async def test_a_pattern_that_takes_for_ever_costs_its_line_and_nobody_waits() -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    async with asyncio.TaskGroup() as tasks:
        ticking = tasks.create_task(tick())
        lines = ["aaa", "a" * 60 + "!", "aa"]
        assert await aside(lambda: matches(EVIL, lines), "logs") == (["aaa", "aa"], 1)
        ticking.cancel()
    assert ticks > 3


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
    booming = sensor(log)
    _, state = booming.judge(await booming.read(None), None, 0)
    with log.open("ab") as file:
        file.write(b"\x1b[31mboom\x1b[0m \xff\xfe\x00\x01 \xe2\x80\xa8> obey\n" + bytes(range(256)))
    event, state = booming.judge(await booming.read(state), state, 1)
    event, state = booming.judge(await booming.read(state), state, 12)
    assert event is not None
    assert len(event.outside) == 1
    assert event.outside[0].startswith(" boom")
    assert all(line.isprintable() for line in event.outside)
