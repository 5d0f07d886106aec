"""`nanobot mcp serve`, asked by the protocol's own client; the commands around servers."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.server import Server
from mcp_types import TextContent

from nanobot.plugins.mcp.serving import server
from tests.cli.running import run
from tests.cli.talking import Home
from tests.doubles.mcp_server import NAMES
from tests.doubles.openai_server import OpenAIServer
from tests.plugins.mcp.conftest import ROOT
from tests.plugins.mcp.test_http import free_port
from tests.process.harness import COMMAND


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Home]:
    async with OpenAIServer() as model:
        yield Home(tmp_path, model)


def environ(home: Home, **more: str) -> dict[str, str]:
    return home.environ(PYTHONPATH=os.environ.get("PYTHONPATH", ROOT), **more)


@asynccontextmanager
async def client(home: Home) -> AsyncIterator[Client]:
    command, *arguments = (*COMMAND, "mcp", "serve")
    server = StdioServerParameters(command=command, args=arguments, env=environ(home))
    async with asyncio.timeout(60), Client(server) as opened:
        yield opened


async def call(opened: Client, name: str, **arguments: Any) -> tuple[str, bool]:
    result = await opened.call_tool(name, arguments)
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text, not result.is_error


async def test_a_message_gets_its_answer_whether_or_not_a_gateway_serves(home: Home) -> None:
    async with client(home) as session:
        text, ok = await call(session, "send_message", text="say: alone", session="mcp:work")
        assert (text, ok) == ("alone", True)
        async with home.gateway():
            text, ok = await call(session, "send_message", text="say: served", session="mcp:work")
            assert (text, ok) == ("served", True)
            listed, ok = await call(session, "sessions_list")
            assert [row["key"] for row in json.loads(listed)] == ["mcp:work"]
            shown, ok = await call(session, "sessions_show", session="mcp:work")
            assert "say: served" in shown
            runs, _ = await call(session, "runs_list", session="mcp:work")
            assert [load["state"] for load in json.loads(runs)] == ["completed", "completed"]


@asynccontextmanager
async def in_memory(served: Server[Any]) -> AsyncIterator[Client]:
    async with Client(served) as opened:
        yield opened


@asynccontextmanager
async def over_http(served: Server[Any]) -> AsyncIterator[Client]:
    port = free_port()
    settings = uvicorn.Config(served.streamable_http_app(), port=port, log_config=None)
    listening = uvicorn.Server(settings)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(listening.serve())
        async with asyncio.timeout(10):
            while not listening.started:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.02)
        async with (
            httpx2.AsyncClient(trust_env=False) as web,
            Client(
                streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=web)
            ) as opened,
        ):
            yield opened
        listening.should_exit = True


@pytest.mark.parametrize("connected", [in_memory, over_http])
async def test_a_run_that_takes_long_reports_its_state_at_a_steady_pace(
    home: Home, connected: Callable[[Server[Any]], AbstractAsyncContextManager[Client]]
) -> None:
    """The official TypeScript client gives up after 60 s without progress."""
    (home.workspace).mkdir()
    (home.workspace / "a.txt").write_text("hello")
    reports: list[tuple[float, str]] = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        reports.append((progress, message or ""))

    text = 'wait:0.4\ntool:read_file:{"path": "a.txt"}\nsay:done'
    async with home.gateway(), connected(server(environ(home), 0.05)) as session:
        result = await session.call_tool("send_message", {"text": text}, progress_callback=heard)
    assert not result.is_error
    times = [seconds for seconds, _ in reports]
    assert len(times) >= 8
    assert times == sorted(set(times))
    assert reports[-1][1] == "running"


async def test_a_session_is_called_session_by_every_tool(home: Home) -> None:
    async with client(home) as session:
        tools = {tool.name: tool.input_schema for tool in (await session.list_tools()).tools}
    named = {name for name, schema in tools.items() if "session" in schema["properties"]}
    assert named == {*("send_message", "status", "sessions_show", "sessions_stop", "runs_list")}
    assert not [name for name, schema in tools.items() if "key" in schema["properties"]]


async def test_what_is_wrong_is_an_answer_that_says_so(home: Home) -> None:
    async with client(home) as session:
        assert await call(session, "send_message") == ("text: required, but missing", False)
        text, ok = await call(session, "runs_show", id="none")
        assert "There is no run none" in text
        assert not ok
        text, ok = await call(session, "runs_list", state="odd")
        assert "`state` must be one of live, queued" in text
        assert not ok
        text, ok = await call(session, "sessions_delete", key="mcp:work")
        assert "there is no tool" in text
        assert not ok


async def test_the_tools_are_those_of_the_page(home: Home) -> None:
    page = (Path(ROOT) / "docs/mcp.md").read_text("utf-8").partition("## nanobot as a server")[2]
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    async with client(home) as session:
        listed = {tool.name for tool in (await session.list_tools()).tools}
        assert named == listed | {"approve", "show", "answer"}
        assert not {"approve", "show", "answer"} & listed  # web.mcp_approves
        await call(session, "send_message", text="say: hello")
        assert (await call(session, "sessions_stop", session="mcp:direct"))[1]


async def test_who_leaves_before_the_answer_ends_the_server_without_a_trace(home: Home) -> None:
    process = await asyncio.create_subprocess_exec(
        *(*COMMAND, "mcp", "serve"), env=environ(home), stdin=PIPE, stdout=PIPE, stderr=PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    ping = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode() + b"\n"
    process.stdin.write(ping)
    async with asyncio.timeout(60):
        assert json.loads(await process.stdout.readline())["id"] == 1
        process.stdout._transport.close()  # type: ignore[attr-defined]
        process.stdin.write(ping)
        process.stdin.close()
        errors = await process.stderr.read()
        assert (await process.wait(), errors) == (0, b"")


async def test_what_only_looks_says_so(home: Home) -> None:
    async with client(home) as session:
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
    looking = {
        name
        for name, tool in tools.items()
        if tool.annotations is not None and tool.annotations.read_only_hint
    }
    assert {"sessions_list", "sessions_show", "runs_list", "approvals_list"} <= looking
    assert not looking & {"send_message", "approve", "deny"}
    assert tools["send_message"].input_schema["required"] == ["text"]


async def test_over_http_only_the_token_opens(home: Home) -> None:
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        *(*COMMAND, "mcp", "serve", "--http", f"127.0.0.1:{port}", "--token-env", "OPENS"),
        env=environ(home, OPENS="sesame"),
        stdout=DEVNULL,
        stderr=DEVNULL,
    )
    url = f"http://127.0.0.1:{port}/mcp"
    try:
        async with asyncio.timeout(60), httpx2.AsyncClient(trust_env=False) as web:
            refused = None
            while refused is None:
                try:
                    refused = await web.post(url, headers={"authorization": "Bearer other"})
                except httpx2.TransportError:
                    await asyncio.sleep(0.1)
            assert refused.status_code == 401
            web.headers["authorization"] = "Bearer sesame"
            async with Client(streamable_http_client(url, http_client=web)) as session:
                assert await call(session, "send_message", text="say: open") == ("open", True)
    finally:
        process.kill()
        await process.wait()


@pytest.mark.parametrize(
    "options",
    [("--http", "8766"), ("--http", "127.0.0.1:x"), ("--http", "127.0.0.1:0")],
)
async def test_http_without_place_or_token_is_refused(home: Home, options: tuple[str, ...]) -> None:
    ended = await run(environ(home), "mcp", "serve", *options)
    assert ended.code == 2
    assert ended.err.startswith("nanobot: --http ")


async def test_a_server_is_added_tried_listed_and_removed(
    home: Home, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("double")
    file = home.folder / "config.toml"
    before = "# mine\n" + file.read_text()
    file.write_text(before)
    double = ("--", sys.executable, "-m", "tests.doubles.mcp_server", str(folder))
    env = environ(home)
    options = ("--env", f"PYTHONPATH={ROOT}", "--read", ROOT, "--write", str(folder))
    added = await run(env, "mcp", "add", "it", *options, "--host", "example.org", *double)
    assert added.code == 0, added.err
    assert file.read_text().startswith(before)
    assert 'hosts = ["registries", "example.org"]' in file.read_text()
    assert (await run(env, "mcp", "add", "it", "--url", "http://x/")).code == 2
    tried = await run(env, "mcp", "test", "it")
    assert "mcp__it__add (only reads, it says): [it] Adds two numbers." in tried.out, tried.err
    assert f"it answers: {len(NAMES)} tools, {len(NAMES)} of them offered." in tried.out
    (listed,) = (await run(env, "mcp", "list", "--json")).json
    assert (listed["name"], listed["state"]) == ("it", "off")
    shown = await run(env, "config", "get", "mcp.it.env")
    assert "***" in shown.out
    assert ROOT not in shown.out
    assert (await run(env, "mcp", "remove", "it")).code == 0
    assert file.read_text().strip() == before.strip()
    assert (await run(env, "mcp", "remove", "it")).code == 1


async def test_what_cannot_be_a_server_is_not_written(home: Home) -> None:
    file = home.folder / "config.toml"
    before = file.read_text()
    for arguments in (
        ("a.b", "--url", "http://x/"),
        ("it",),
        ("it", "--url", "ftp://x/"),
        ("it", "--url", "http://x/", "--header", "no"),
        ("it", "--url", "http://x/", "--", "program"),
    ):
        assert (await run(environ(home), "mcp", "add", *arguments)).code in (2, 3), arguments
    assert file.read_text() == before


async def test_a_server_that_cannot_be_used_fails_its_trial(home: Home) -> None:
    env = environ(home)
    assert (await run(env, "mcp", "add", "it", "--", "/no/such/program")).code == 0
    ended = await run(env, "mcp", "test", "it")
    assert ended.code == 1
    assert "cannot be started" in ended.err
    assert (await run(env, "mcp", "test", "other")).code == 1


async def test_a_token_without_http_is_refused(home: Home) -> None:
    # Without it, a person would believe that what listens is guarded.
    ended = await run(environ(home, OPENS="sesame"), "mcp", "serve", "--token-env", "OPENS")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("nanobot: --token-env ")
