"""`traceparent`: taken from the programs that start runs, and passed on to what runs call."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from nanobot.plugins.common.runs.trace_ids import trace_id
from nanobot.plugins.hooks.signatures import sign
from tests.doubles.mcp_http import SESSION, VERSION, McpHttp, serving_mcp
from tests.doubles.otlp_collector import Collector, collecting, text_attributes
from tests.process.harness import World
from tests.process.test_webhooks import CI, HOOK

TOKEN = "a-token-of-the-test-that-is-long-enough"
TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SAMPLED = f"00-{TRACE}-{SPAN}-01"
UNSAMPLED = f"00-{TRACE}-{SPAN}-00"
COMMAND = json.dumps({"command": "echo seen=$TRACEPARENT"})
ASKED = f'tool:mcp__it__add:{{"a": 2}}\ntool:exec:{COMMAND}\nsay:done'
ALLOWED = '[[policy.rules]]\ntool = "*"\nverdict = "allow"\n'


@pytest.fixture
async def collector() -> AsyncIterator[Collector]:
    async with collecting() as opened:
        yield opened


@pytest.fixture
async def mcp() -> AsyncIterator[McpHttp]:
    async with serving_mcp() as server:
        yield server


def configure(
    world: World, collector: Collector, mcp: McpHttp | None = None, more: str = ""
) -> None:
    web = CI.replace("port = 0", f'port = 0\ntoken = "{TOKEN}"')
    traces = f'[traces]\nenabled = true\nendpoint = "{collector.url}"\ninterval = 0.2\n{more}\n'
    server = "" if mcp is None else f'[mcp.it]\nurl = "{mcp.url}"\npin = "off"\n'
    world.configure(more=web + ALLOWED + traces + server)


async def started(world: World, **environ: str) -> str:
    gateway = await world.launch(**environ)
    found = re.search(r"web=(http://\S+)", await gateway.ready())
    assert found
    if "[mcp.it]" in (world.home / "config.toml").read_text("utf-8"):
        await world.eventually(lambda: "MCP server it: 1 tools" in world.log)
    return found[1]


async def ask(url: str, text: str, *traceparents: str, session: str = "") -> None:
    """As a program with the owner's token."""
    headers = [("Authorization", f"Bearer {TOKEN}")]
    headers += [("traceparent", each) for each in traceparents]
    body = {"messages": [{"role": "user", "content": text}]}
    async with (
        aiohttp.ClientSession() as client,
        client.post(f"{url}/v1/chat/completions", json=body, headers=headers) as answer,
    ):
        assert answer.status == 200, await answer.text()


def seen_by_command(world: World) -> str:
    """What it printed; what it was called with is there too."""
    seen: list[str] = re.findall(r"seen=([0-9a-f-]*)", json.dumps(world.model.requests[-1]))
    return max(seen, key=len)


async def test_a_run_continues_the_trace_of_its_program_and_passes_it_on(
    world: World, collector: Collector, mcp: McpHttp
) -> None:
    configure(world, collector, mcp)
    url = await started(world)
    await ask(url, ASKED, SAMPLED)
    (run,) = await collector.until("invoke_agent nanobot")
    assert (run.trace_id.hex(), run.parent_span_id.hex()) == (TRACE, SPAN)
    assert {span.trace_id.hex() for span in collector.spans} == {TRACE}
    first, second = collector.named("chat scripted")
    told = [headers["traceparent"] for headers in world.model.headers]
    assert told == [f"00-{TRACE}-{span.span_id.hex()}-01" for span in (first, second)]
    (added,) = collector.named("execute_tool mcp__it__add")
    ((params, headers),) = mcp.calls
    of_call = f"00-{TRACE}-{added.span_id.hex()}-01"
    assert (params["_meta"]["traceparent"], headers["traceparent"]) == (of_call, of_call)
    about = text_attributes(added)
    assert about["mcp.method.name"] == "tools/call"
    assert (about["mcp.session.id"], about["mcp.protocol.version"]) == (SESSION, VERSION)
    assert (about["network.transport"], about["server.address"]) == ("tcp", "127.0.0.1")
    (verdict,) = added.events
    assert text_attributes(verdict) == {
        "nanobot.policy.verdict.type": "allow",
        "nanobot.policy.rule": "policy.rules, rule 1",
    }
    (command,) = collector.named("execute_tool exec")
    assert seen_by_command(world) == f"00-{TRACE}-{command.span_id.hex()}-01"


async def test_the_log_names_the_trace_that_a_run_continues(
    world: World, collector: Collector
) -> None:
    configure(world, collector)
    url = await started(world, NANOBOT_LOG_FORMAT="json")
    await ask(url, "say:hello", SAMPLED)
    await world.eventually(lambda: "nanobot.plugins.logs.run_log" in world.log)
    lines = [json.loads(line) for line in world.log.splitlines() if line.startswith("{")]
    of_run = [line for line in lines if "run" in line]
    assert [line for line in of_run if line["logger"] == "nanobot.plugins.logs.run_log"]
    assert {line["trace"] for line in of_run} == {TRACE}


async def test_what_a_program_does_not_record_is_not_sent_but_passed_on(
    world: World, collector: Collector
) -> None:
    configure(world, collector)
    url = await started(world)
    await ask(url, "say:hello", UNSAMPLED)
    await ask(url, "say:again")
    (run,) = await collector.until("invoke_agent nanobot")
    assert run.trace_id.hex() != TRACE
    assert world.model.headers[0]["traceparent"].startswith(f"00-{TRACE}-")
    assert world.model.headers[0]["traceparent"].endswith("-00")


@pytest.mark.parametrize(
    "wrong",
    [
        ("nonsense",),
        (f"00-{'0' * 32}-{SPAN}-01",),
        (f"00-{TRACE}-{'0' * 16}-01",),
        (f"ff-{TRACE}-{SPAN}-01",),
        (SAMPLED.upper(),),
        (f"{SAMPLED}-more",),
        (SAMPLED, SAMPLED),
    ],
)
async def test_what_is_no_traceparent_is_ignored(
    world: World, collector: Collector, wrong: tuple[str, ...]
) -> None:
    configure(world, collector)
    url = await started(world)
    await ask(url, "say:hello", *wrong)
    (run,) = await collector.until("invoke_agent nanobot")
    assert run.trace_id.hex() == trace_id(text_attributes(run)["nanobot.run.id"])
    assert run.parent_span_id == b""
    assert list(run.links) == []


async def deliver(url: str, key: str, traceparent: str) -> None:
    body = json.dumps({"workflow": {"name": key}}).encode()
    headers = sign(HOOK, body, at=0, key=key)
    headers |= {"Content-Type": "application/json", "traceparent": traceparent}
    async with (
        aiohttp.ClientSession() as client,
        client.post(f"{url}/hooks/ci", data=body, headers=headers) as answer,
    ):
        assert answer.status == 202


async def test_a_webhook_is_linked_and_can_neither_join_nor_hide_a_trace(
    world: World, collector: Collector
) -> None:
    configure(world, collector)
    url = await started(world)
    world.telegram.say(1, "/help")
    await world.answered(1)
    await deliver(url, "one", SAMPLED)
    (first,) = await collector.until("invoke_agent nanobot")
    assert first.trace_id.hex() != TRACE
    assert [(link.trace_id.hex(), link.span_id.hex()) for link in first.links] == [(TRACE, SPAN)]
    await deliver(url, "two", UNSAMPLED)
    _, second = await collector.until("invoke_agent nanobot", 2)
    assert list(second.links) == []
    told = [headers["traceparent"] for headers in world.model.headers]
    assert [TRACE in each for each in told] == [False, False]
    assert [each.endswith("-01") for each in told] == [True, True]


async def test_a_run_that_a_run_starts_links_to_the_call_that_started_it(
    world: World, collector: Collector
) -> None:
    configure(world, collector)
    await started(world)
    world.telegram.say(1, 'tool:spawn:{"task": "say:inner"}\nsay:outer')
    runs = await collector.until("invoke_agent nanobot", 3)
    (call,) = collector.named("execute_tool spawn")
    (inner,) = [run for run in runs if run.links]
    (link,) = inner.links
    assert (link.trace_id, link.span_id) == (call.trace_id, call.span_id)
    assert inner.trace_id != call.trace_id
    assert text_attributes(inner)["nanobot.run.kind"] == "task"


@pytest.mark.parametrize("off", ["propagate = false", "enabled = false"])
async def test_nothing_is_passed_on_where_it_is_switched_off(
    world: World, collector: Collector, mcp: McpHttp, off: str
) -> None:
    configure(world, collector, mcp, off)
    file = world.home / "config.toml"
    if off == "enabled = false":
        text = file.read_text("utf-8").replace(off, "").replace("enabled = true", off)
        file.write_text(text, "utf-8")
    url = await started(world)
    await ask(url, ASKED, SAMPLED)
    assert all("traceparent" not in headers for headers in world.model.headers)
    ((params, headers),) = mcp.calls
    assert "_meta" not in params
    assert "traceparent" not in headers
    assert seen_by_command(world) == ""
    kept: list[Any] = world.rows("SELECT payload FROM entries")
    assert not [payload for (payload,) in kept if TRACE.encode() in bytes(payload)]
