"""Servers that are programs: the real package at both ends."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
from pathlib import Path

import pytest

from nanobot.bus.events import Role
from nanobot.errors import ToolArgumentsError, ToolDenied, ToolError, ToolTimeout
from tests.doubles.mcp_server import NAMES
from tests.mcp.conftest import program, script, working


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False


async def gone(pid: int) -> None:
    """Wait until the kernel is done with a process that was killed."""
    async with asyncio.timeout(30):
        while alive(pid):  # noqa: ASYNC110 - other processes set no event
            await asyncio.sleep(0.01)


async def test_the_tools_of_a_server_are_offered_by_its_name_and_say_what_they_take(
    folder: Path,
) -> None:
    async with working(folder, it=program(folder)) as bench:
        own = ["call_tool", "find_tools", "mcp_read"]
        assert bench.names == sorted([*own, *(f"mcp__it__{name}" for name in NAMES)])
        add = next(one for one in bench.registry.specs() if one.name == "mcp__it__add")
        assert add.description == "[it] Adds two numbers."
        assert add.parameters["properties"]["a"] == {
            "description": "One number",
            "type": "integer",
        }
        assert add.parameters["required"] == ["a"]
        assert bench.view().tools == len(NAMES)


async def test_a_result_is_marked_as_a_strangers(folder: Path) -> None:
    async with working(folder, it=program(folder)) as bench:
        text = await bench.call("mcp__it__colour", '{"name": "red"}')
        assert "Untrusted content" in text
        assert "red is nice" in text
        assert bench.registry.taints("mcp__it__colour")


async def test_arguments_that_cannot_fit_are_told_before_the_server_is_asked(folder: Path) -> None:
    async with working(folder, it=program(folder)) as bench:
        with pytest.raises(ToolArgumentsError, match='"a": required'):
            await bench.call("mcp__it__add")
        with pytest.raises(ToolArgumentsError, match='"a": expected integer'):
            await bench.call("mcp__it__add", '{"a": "one"}')
        assert not (folder / "calls").exists()
        assert "\n3\n" in await bench.call("mcp__it__add", '{"a": 2, "b": null}')


async def test_the_servers_own_error_is_told_in_its_words(folder: Path) -> None:
    async with working(folder, it=program(folder)) as bench:
        with pytest.raises(ToolError, match="the disk is full"):
            await bench.call("mcp__it__break")
        assert bench.view().state == "connected"


async def test_data_without_text_is_shown_as_json(folder: Path) -> None:
    async with working(folder, it=program(folder)) as bench:
        assert "42" in await bench.call("mcp__it__data")


async def test_a_server_sees_nothing_of_our_environment_but_what_it_was_given(folder: Path) -> None:
    settings = program(folder)
    async with working(folder, it=settings):
        seen = json.loads((folder / "environ").read_text())
        added = {"LC_CTYPE"}  # by Python itself, in the C locale
        assert set(seen) - added == {"PATH", "HOME", *settings.env}


async def test_a_huge_result_is_cut(folder: Path) -> None:
    async with working(folder, it=program(folder)) as bench:
        text = await bench.call("mcp__it__huge", '{"size": 2000000}')
        assert len(text) <= 10_000
        assert "characters left out" in text


async def test_a_result_beyond_all_measure_ends_the_connection_and_nothing_else(
    folder: Path,
) -> None:
    async with working(folder, it=program(folder)) as bench:
        with pytest.raises(ToolError, match="more than 4,194,304 bytes"):
            await bench.call("mcp__it__huge", '{"size": 5000000}')
        await bench.until(lambda: bench.view().state == "connected")
        assert "\n3\n" in await bench.call("mcp__it__add", '{"a": 2}')


async def test_a_server_that_dies_is_started_again_and_its_tools_stay_listed(folder: Path) -> None:
    async with working(folder, it=program(folder)) as bench:
        before = bench.names
        with pytest.raises(ToolError, match=r"exit code 3.*told to die.*outcome unknown"):
            await bench.call("mcp__it__die")
        with pytest.raises(ToolError, match="is not connected"):
            await bench.call("mcp__it__pid")
        assert bench.names == before
        await bench.until(lambda: bench.view().state == "connected")
        assert "\n3\n" in await bench.call("mcp__it__add", '{"a": 2}')


async def test_a_server_killed_while_nobody_calls_it_is_started_again(folder: Path) -> None:
    async with working(folder, it=program(folder)) as bench:
        first = int((folder / "pid").read_text())
        os.kill(first, signal.SIGKILL)
        await bench.until(lambda: bench.view().state != "connected")
        await bench.until(lambda: bench.view().state == "connected")
        assert str(first) not in await bench.call("mcp__it__pid")


async def test_a_call_without_an_answer_ends_at_its_timeout_and_others_go_on(folder: Path) -> None:
    async with working(folder, it=program(folder, timeout=4.0)) as bench:
        with pytest.raises(ToolTimeout, match="outcome unknown"):
            await bench.call("mcp__it__hang")
        assert "\n3\n" in await bench.call("mcp__it__add", '{"a": 2}')


async def test_a_server_ends_with_everything_it_started(folder: Path) -> None:
    async with working(folder, it=program(folder)) as bench:
        text = await bench.call("mcp__it__offspring")
        child = int(next(line for line in text.splitlines() if line.isdigit()))
        server = int((folder / "pid").read_text())
        assert alive(child)
    for pid in (server, child):
        await gone(pid)


async def test_only_allowed_tools_are_offered(folder: Path) -> None:
    async with working(folder, it=program(folder, allow=("a*", "pid"))) as bench:
        assert [name for name in bench.names if name.startswith("mcp__")] == [
            "mcp__it__add",
            "mcp__it__pid",
        ]


async def test_tools_are_the_owners_unless_members_may(folder: Path) -> None:
    async with working(folder, it=program(folder), ours=program(folder, members=True)) as bench:
        with pytest.raises(ToolDenied):
            await bench.call("mcp__it__add", '{"a": 2}', Role.MEMBER)
        assert "\n3\n" in await bench.call("mcp__ours__add", '{"a": 2}', Role.MEMBER)
        with pytest.raises(ToolError, match="for owners"):
            await bench.call("mcp_read", '{"server": "it"}', Role.MEMBER)


async def test_resources_and_prompts_are_read(folder: Path) -> None:
    async with working(folder, it=program(folder)) as bench:
        listed = await bench.call("mcp_read", '{"server": "it"}')
        assert "note://today: A note" in listed
        assert "prompt greet(who): Greets" in listed
        found = await bench.call("mcp_read", '{"server": "it", "uri": "note://today"}')
        assert "Buy milk." in found
        asked = '{"server": "it", "prompt": "greet", "arguments": {"who": "Ann"}}'
        assert "user: Say hello to Ann." in await bench.call("mcp_read", asked)
        with pytest.raises(ToolError, match="failed"):
            await bench.call("mcp_read", '{"server": "it", "uri": "note://never"}')
        with pytest.raises(ToolError, match='"nobody" is not one of it'):
            await bench.call("mcp_read", '{"server": "nobody"}')


async def test_tools_that_come_late_are_found_and_called(folder: Path) -> None:
    async with working(folder, it=program(folder)) as bench:
        await bench.call("mcp__it__late")
        # Some change of the protocol's mind is told by nobody: another failed call asks as well.
        with pytest.raises(ToolError):
            await bench.call("mcp_read", '{"server": "it", "uri": "note://never"}')
        await bench.until(lambda: "mcp__it__extra" in bench.names)
        assert "mcp__it__extra" in await bench.call("find_tools", '{"query": "came late"}')
        assert "extra" in await bench.call("mcp__it__extra")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "exit code 0"),
        ("import sys; sys.exit('no config')", "exit code 1.*no config"),
        ("print('hello'); import time; time.sleep(300)", "does not answer"),
        ("print('x' * 5_000_000); import time; time.sleep(300)", "more than 4,194,304"),
        ('while True: print(\'{"jsonrpc": "2.0", "method": "x"}\')', "too many"),
        ("while True: print('[' * 1000)", "too many"),
    ],
)
async def test_a_program_that_is_no_server_is_told_and_harms_nothing(
    folder: Path, text: str, why: str
) -> None:
    good = program(folder)
    bad = script(text, timeout=3.0)
    async with working(folder, ("connected", "failed"), bad=bad, it=good) as bench:
        await bench.until(lambda: bench.view("bad").state == "failed")
        assert re.search(why, bench.view("bad").error)
        assert "\n3\n" in await bench.call("mcp__it__add", '{"a": 2}')


async def test_a_program_that_is_not_there_is_named(folder: Path) -> None:
    missing = program(folder, command="/no/such/program")
    async with working(folder, ("failed",), it=missing) as bench:
        assert "/no/such/program cannot be started (No such file" in bench.view().error
        with pytest.raises(ToolError, match="not connected"):
            await bench.call("mcp_read", '{"server": "it"}')
