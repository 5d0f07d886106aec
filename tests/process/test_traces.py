"""Traces as a collector receives them: of a turn with tools, an approval and a kill -9."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from nanobot.telemetry.ids import trace_id
from tests.doubles.otlp_collector import Collector, collecting, text_attributes
from tests.process.harness import PATIENCE, World

CHAT = 1
ASKING = f"""
[[policy.rules]]
tool = "exec"
chats = ["{CHAT}"]
verdict = "ask"
"""
COMMAND = json.dumps({"command": "echo x >> effects"})


@pytest.fixture
async def collector(world: World) -> AsyncIterator[Collector]:
    async with collecting() as opened:
        traces = f'[traces]\nenabled = true\nendpoint = "{opened.url}"\ninterval = 0.2'
        world.configure(more=f"{ASKING}\n{traces}\n")
        yield opened


async def test_a_run_that_was_killed_and_had_to_wait_is_one_trace(
    world: World, collector: Collector
) -> None:
    first = await world.launch(crash_at="start_tool:after")
    world.telegram.say(CHAT, f"tool:list_dir:{{}}\ntool:exec:{COMMAND}\nsay:done")
    await world.answered(CHAT)
    world.telegram.press(world.telegram.messages(CHAT)[0], "Approve")
    await first.died()
    second = await world.start()
    await world.eventually(lambda: any("done" in text for text in world.texts(CHAT)))
    (*_, last) = await collector.until("invoke_agent nanobot", 2)
    assert await second.stop() == 0
    run_id = text_attributes(last)["nanobot.run.id"]
    spans = [span for span in collector.spans if span.trace_id.hex() == trace_id(run_id)]
    assert len({span.span_id for span in spans}) == len(spans)
    segments = [span for span in spans if span.name == "invoke_agent nanobot"]
    assert [len(span.links) for span in sorted(segments, key=lambda s: s.start_time_unix_nano)] == [
        0,
        1,
    ]
    names = {span.name for span in spans}
    assert {"chat scripted", "execute_tool exec", "execute_tool list_dir"} <= names
    assert {"process telegram", "send telegram"} <= names
    (command,) = (span for span in spans if span.name == "execute_tool exec")
    assert text_attributes(command)["gen_ai.tool.name"] == "exec"


async def test_what_happened_while_the_collector_was_away_is_sent_later_and_once(
    world: World, collector: Collector
) -> None:
    collector.away = True
    first = await world.start()
    for number in range(3):
        world.telegram.say(10 + number, f"say:answer {number}")
        await world.answered(10 + number)
    async with asyncio.timeout(PATIENCE):
        while not collector.refused:  # noqa: ASYNC110 - it comes over HTTP
            await asyncio.sleep(0.02)
    await first.kill()
    collector.away = False
    second = await world.start()
    found = await collector.until("invoke_agent nanobot", 3)
    assert await second.stop() == 0
    assert len({span.trace_id for span in found}) == len(found) == 3
    assert len({span.span_id for span in collector.spans}) == len(collector.spans)


async def test_nothing_is_sent_unless_it_is_switched_on(world: World, collector: Collector) -> None:
    file = world.home / "config.toml"
    file.write_text(file.read_text("utf-8").replace("enabled = true", ""), "utf-8")
    gateway = await world.start()
    world.telegram.say(10, "say:hello")
    await world.said(10, "hello")
    assert await gateway.stop() == 0
    assert (collector.spans, collector.refused) == ([], 0)
