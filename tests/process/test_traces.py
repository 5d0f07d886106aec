"""Traces as a collector receives them: of a turn with tools, an approval and a kill -9."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from xml.etree import ElementTree

import pytest

from tests.doubles.otlp_collector import Collector, collecting, text_attributes
from tests.process.harness import PATIENCE, World
from tests.process.trace_picture import PICTURE, drawn, killed_turn, tracing
from tests.store.conftest import Postgres


@pytest.fixture
async def collector(world: World) -> AsyncIterator[Collector]:
    async with collecting() as opened:
        tracing(world, opened)
        yield opened


async def test_a_run_that_was_killed_and_had_to_wait_is_one_trace(
    world: World, collector: Collector
) -> None:
    spans = await killed_turn(world, collector)
    assert len({span.span_id for span in spans}) == len(spans)
    segments = [span for span in spans if span.name == "invoke_agent nanobot"]
    segments.sort(key=lambda span: span.start_time_unix_nano)
    first, second = segments
    assert list(first.links) == []
    assert [link.span_id for link in second.links] == [first.span_id]
    asked, decided = first.events[0], second.events[0]
    assert text_attributes(asked)["nanobot.policy.verdict.type"] == "ask"
    assert text_attributes(asked)["nanobot.policy.rule"] == "policy.rules, rule 1"
    assert text_attributes(decided)["nanobot.approval.verdict"] == "approved"
    names = {span.name for span in spans}
    assert {"chat scripted", "execute_tool exec", "execute_tool list_dir"} <= names
    (received,) = (span for span in spans if span.name == "process telegram")
    sent = [span for span in spans if span.name == "send telegram"]
    assert {link.span_id for span in sent for link in span.links} == {received.span_id}
    (command,) = (span for span in spans if span.name == "execute_tool exec")
    about = text_attributes(command)
    assert (about["gen_ai.tool.name"], about["error.type"]) == ("exec", "interrupted")
    assert command.parent_span_id == second.span_id
    assert all(span.end_time_unix_nano >= span.start_time_unix_nano for span in spans)
    picture = drawn(spans)
    ElementTree.fromstring(picture)
    assert all(f">{span.name}<" in picture for span in spans)


def test_the_picture_in_the_documentation_is_of_such_a_trace() -> None:
    picture = PICTURE.read_text("utf-8")
    for shown in ("invoke_agent nanobot", "execute_tool exec", "interrupted", "send telegram"):
        assert shown in picture
    assert picture.count(">invoke_agent nanobot<") == 2


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


async def test_over_postgresql_it_is_the_same_trace(world: World, postgres: Postgres) -> None:
    world.database_url = postgres.empty()
    async with collecting() as collector:
        tracing(world, collector)
        spans = await killed_turn(world, collector)
    assert [span.name for span in spans].count("invoke_agent nanobot") == 2
    (command,) = (span for span in spans if span.name == "execute_tool exec")
    assert text_attributes(command)["error.type"] == "interrupted"
    assert [span for span in spans if span.name == "send telegram"]
