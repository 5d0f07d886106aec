"""Servers that are programs: the real package at both ends, except where a server ends, breaks the
rules or is started more than once."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio

from nanobot.errors import ToolArgumentsError, ToolDenied, ToolError, ToolTimeout
from nanobot.messages import Role
from nanobot.tools.verdict import Verdict
from tests.doubles import mcp_plain
from tests.doubles.mcp_server import NAMES
from tests.plugins.mcp.conftest import Bench, Hasty, context, plain, program, script, working
from tests.tools.browsing import CALL


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


NOISE: dict[str, tuple[str, str]] = {
    "silent": ("", "exit code 0"),
    "leaving": ("import sys; sys.exit('no config')", "exit code 1.*no config"),
    "chatting": ("print('hello'); import time; time.sleep(300)", "does not answer"),
    "endless": ("print('x' * 17_000_000); import time; time.sleep(300)", "more than 16,777,216"),
    "flooding": ('while True: print(\'{"jsonrpc": "2.0", "method": "x"}\')', "too many"),
    "brackets": ("while True: print('[' * 1000)", "too many"),
}
together = pytest.mark.asyncio(loop_scope="module")
"""Tests that disturb nobody have servers together: each takes seconds to start."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bench(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Bench]:
    """Servers of several kinds, besides programs that are none."""
    folder = tmp_path_factory.mktemp("it")
    servers = {
        "it": program(folder),
        "ours": plain(tmp_path_factory.mktemp("ours"), members=True),
        "few": plain(tmp_path_factory.mktemp("few"), allow=("a*", "pid")),
    }
    servers |= {name: script(text) for name, (text, _) in NOISE.items()}
    servers["chatting"] = script(NOISE["chatting"][0], timeout=1.0)
    ready: asyncio.Future[Bench] = asyncio.get_running_loop().create_future()
    over = asyncio.Event()

    async def hold() -> None:
        states = ("connected", "failed", "connecting")
        async with working(folder, states, None, None, **servers) as bench:
            good = ("it", "ours", "few")
            await bench.until(lambda: all(bench.view(name).state == "connected" for name in good))
            ready.set_result(bench)
            await over.wait()

    holding = asyncio.create_task(hold())
    await asyncio.wait((holding, ready), return_when=asyncio.FIRST_COMPLETED)
    yield ready.result()
    over.set()
    await holding


@pytest.mark.process
@together
async def test_the_tools_of_a_server_are_offered_by_its_name_and_say_what_they_take(
    bench: Bench,
) -> None:
    own = ["call_tool", "find_tools", "mcp_read"]
    assert [name for name in bench.names if not name.startswith("mcp__")] == own
    its = [name for name in bench.names if name.startswith("mcp__it__")]
    assert its == sorted(f"mcp__it__{name}" for name in NAMES)
    add = next(spec for spec in bench.registry.specs() if spec.name == "mcp__it__add")
    assert add.description == "[it] Adds two numbers."
    assert add.parameters["properties"]["a"] == {
        "description": "One number",
        "type": "integer",
    }
    assert add.parameters["required"] == ["a"]
    assert bench.view().tools == len(NAMES)


@together
async def test_a_result_is_marked_as_a_strangers(bench: Bench) -> None:
    text = await bench.call("mcp__it__colour", '{"name": "red"}')
    assert "Untrusted content" in text
    assert "red is nice" in text
    assert bench.registry.taints("mcp__it__colour", '{"name": "red"}', CALL)


@together
async def test_arguments_that_cannot_fit_are_told_before_the_server_is_asked(bench: Bench) -> None:
    calls = bench.folder / "calls"
    before = calls.read_text() if calls.exists() else ""
    with pytest.raises(ToolArgumentsError, match='"a": required'):
        await bench.call("mcp__it__add")
    with pytest.raises(ToolArgumentsError, match='"a": expected integer'):
        await bench.call("mcp__it__add", '{"a": "one"}')
    assert (calls.read_text() if calls.exists() else "") == before
    assert "\n3\n" in await bench.call("mcp__it__add", '{"a": 2, "b": null}')


@together
async def test_the_servers_own_error_is_told_in_its_words(bench: Bench) -> None:
    with pytest.raises(ToolError, match="the disk is full"):
        await bench.call("mcp__it__break")
    assert bench.view().state == "connected"


@together
async def test_data_without_text_is_shown_as_json(bench: Bench) -> None:
    assert "42" in await bench.call("mcp__it__data")


@together
async def test_a_server_sees_nothing_of_our_environment_but_what_it_was_given(
    bench: Bench,
) -> None:
    seen = json.loads((bench.folder / "environ").read_text())
    added = {"LC_CTYPE"}  # by Python itself, in the C locale
    ours = {"PATH", "HOME", "PYTHONSAFEPATH", "PYTHONNOUSERSITE"}
    assert set(seen) - added == {*ours, *program(bench.folder).env}


@together
async def test_a_huge_result_is_cut(bench: Bench) -> None:
    text = await bench.call("mcp__it__huge", '{"size": 2000000}')
    assert len(text) <= 10_000
    assert "characters left out" in text


async def test_a_result_beyond_all_measure_ends_the_connection_and_nothing_else(
    folder: Path,
) -> None:
    async with working(folder, clock=Hasty(), it=plain(folder)) as bench:
        with pytest.raises(ToolError, match="more than 16,777,216 bytes"):
            await bench.call("mcp__it__huge")
        await bench.until(lambda: bench.view().state == "connected")
        assert "\n3\n" in await bench.call("mcp__it__add", '{"a": 2}')


async def test_a_server_that_dies_is_started_again_and_its_tools_stay_listed(folder: Path) -> None:
    async with working(folder, clock=Hasty(), it=plain(folder)) as bench:
        before = bench.names
        with pytest.raises(ToolError, match=r"exit code 3.*told to die.*outcome unknown"):
            await bench.call("mcp__it__die")
        with pytest.raises(ToolError, match="is not connected"):
            await bench.call("mcp__it__pid")
        assert bench.names == before
        await bench.until(lambda: bench.view().state == "connected")
        assert "\n3\n" in await bench.call("mcp__it__add", '{"a": 2}')


async def test_a_server_killed_while_nobody_calls_it_is_started_again(folder: Path) -> None:
    async with working(folder, clock=Hasty(), it=plain(folder)) as bench:
        first = int((folder / "pid").read_text())
        os.kill(first, signal.SIGKILL)
        await bench.until(lambda: bench.view().state != "connected")
        await bench.until(lambda: bench.view().state == "connected")
        assert str(first) not in await bench.call("mcp__it__pid")


async def test_a_call_without_an_answer_ends_at_its_timeout_and_others_go_on(folder: Path) -> None:
    async with working(folder, clock=Hasty(), it=plain(folder, timeout=1.0)) as bench:
        with pytest.raises(ToolTimeout, match="outcome unknown"):
            await bench.call("mcp__it__hang")
        assert "\n3\n" in await bench.call("mcp__it__add", '{"a": 2}')


@pytest.mark.process
async def test_a_server_ends_with_everything_it_started(folder: Path) -> None:
    async with working(folder, clock=Hasty(), it=plain(folder)) as bench:
        text = await bench.call("mcp__it__offspring")
        child = int(next(line for line in text.splitlines() if line.isdigit()))
        server = int((folder / "pid").read_text())
        assert alive(child)
    for pid in (server, child):
        await gone(pid)


@together
async def test_only_allowed_tools_are_offered(bench: Bench) -> None:
    few = [name for name in bench.names if name.startswith("mcp__few__")]
    assert few == ["mcp__few__add", "mcp__few__pid"]


@together
async def test_tools_are_the_owners_unless_members_may(bench: Bench) -> None:
    with pytest.raises(ToolDenied):
        await bench.call("mcp__it__add", '{"a": 2}', Role.MEMBER)
    assert "\n3\n" in await bench.call("mcp__ours__add", '{"a": 2}', Role.MEMBER)
    with pytest.raises(ToolError, match="for owners"):
        await bench.call("mcp_read", '{"server": "it"}', Role.MEMBER)


@together
async def test_resources_and_prompts_are_read(bench: Bench) -> None:
    listed = await bench.call("mcp_read", '{"server": "it"}')
    assert "note://today: A note" in listed
    assert "prompt greet(who): Greets" in listed
    note = await bench.call("mcp_read", '{"server": "it", "uri": "note://today"}')
    assert "Buy milk." in note
    arguments = '{"server": "it", "prompt": "greet", "arguments": {"who": "Ann"}}'
    assert "user: Say hello to Ann." in await bench.call("mcp_read", arguments)
    with pytest.raises(ToolError, match="failed"):
        await bench.call("mcp_read", '{"server": "it", "uri": "note://never"}')
    with pytest.raises(ToolError, match=r'"nobody" is not one of .*it'):
        await bench.call("mcp_read", '{"server": "nobody"}')


@together
async def test_a_tool_that_is_listed_wrongly_takes_no_other_with_it(bench: Bench) -> None:
    ours = [name for name in bench.names if name.startswith("mcp__ours__")]
    assert ours == sorted(f"mcp__ours__{name}" for name in mcp_plain.NAMES)
    for name in ("odd", "bare", "huge"):
        spec = next(
            offered for offered in bench.registry.specs() if offered.name == f"mcp__ours__{name}"
        )
        assert spec.parameters["type"] == "object"


@together
async def test_half_a_character_does_not_cost_the_answer(bench: Bench) -> None:
    assert "one half ? of it" in await bench.call("mcp__ours__halves")


async def test_tools_that_come_late_are_found_and_called(folder: Path) -> None:
    async with working(folder, clock=Hasty(), it=plain(folder)) as bench:
        await bench.call("mcp__it__late")
        await bench.until(lambda: "mcp__it__extra" in bench.names)
        assert "mcp__it__extra" in await bench.call("find_tools", '{"query": "came late"}')
        assert "extra" in await bench.call("mcp__it__extra")


@pytest.mark.process
@together
@pytest.mark.parametrize("name", NOISE)
async def test_a_program_that_is_no_server_is_told_and_harms_nothing(
    bench: Bench, name: str
) -> None:
    why = NOISE[name][1]
    await bench.until(lambda: re.search(why, bench.view(name).error) is not None)
    assert "\n3\n" in await bench.call("mcp__it__add", '{"a": 2}')


async def test_a_program_that_is_not_there_is_named(folder: Path) -> None:
    missing = program(folder, command="/no/such/program")
    async with working(folder, ("failed",), it=missing) as bench:
        assert "/no/such/program cannot be started (No such file" in bench.view().error
        with pytest.raises(ToolError, match="not connected"):
            await bench.call("mcp_read", '{"server": "it"}')


@pytest.mark.process
@together
async def test_what_may_act_on_the_world_asks_once_content_from_outside_was_seen(
    bench: Bench,
) -> None:
    seen = msgspec.structs.replace(context(), tainted=True)
    for name, arguments, where, verdict in (
        ("mcp__it__colour", '{"name": "red"}', context(), Verdict.ALLOW),
        ("mcp__it__colour", '{"name": "red"}', seen, Verdict.ASK),
        ("mcp__it__add", '{"a": 1}', seen, Verdict.ASK),  # it only reads, its server says
    ):
        assert (await bench.registry.judge(name, arguments, where)).verdict is verdict
