"""Sending traces to a real collector over HTTP: one that is slow, gone, or asks for less."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email.utils import formatdate
from typing import Any

import pytest
from loguru import logger

from nanobot.plugins.common.collector import NotTaken, collector
from nanobot.plugins.common.files.memory_blobs import MemoryBlobs
from nanobot.plugins.common.store.trigger_state import SqlTriggerState
from nanobot.plugins.traces.content import MOST_TEXT, Content
from nanobot.plugins.traces.exporter import Exporter
from nanobot.plugins.traces.otlp import SpanCollector
from nanobot.plugins.traces.sampling import sampler_of
from nanobot.plugins.traces.store import TracedRuns
from nanobot.testing import gateway
from nanobot.testing.gateway import FakeGateway
from nanobot.testing.machine import ManualClock
from nanobot.testing.model import ScriptedProvider, asks_for
from nanobot.tools.base import CallContext, Effect, Tool
from nanobot.tools.redact import Redactor
from tests.agent.tooling import Args, Recorder
from tests.doubles.otlp_collector import Collector, Reply, collecting, partial, text_attributes

SECRET = 'sk-"planted"\\secret-of-the-test'


def exporter(
    bot: FakeGateway,
    to: str,
    clock: ManualClock | None = None,
    content: Content = Content(),  # noqa: B008 - frozen
    **environ: str,
) -> Exporter:
    """As a new process over the same store."""
    known = {"OTEL_EXPORTER_OTLP_TIMEOUT": "500", **environ}
    process = bot.process
    return Exporter(
        TracedRuns(process, process.writer),
        SqlTriggerState(process, process.writer),
        SpanCollector(collector("traces", to, "", known)),
        clock or ManualClock(),
        5.0,
        sampler_of(known),
        content,
    )


@asynccontextmanager
async def talking(*answers: Any, tools: Any = ()) -> AsyncIterator[FakeGateway]:
    async with gateway(ScriptedProvider(*answers), tools=tools) as bot:
        await exporter(bot, "http://127.0.0.1:9/v1/traces").progress()  # earlier runs are not sent
        yield bot


async def turn(bot: FakeGateway, text: str = "hello") -> None:
    await bot.channel.push(text)
    await bot.channel.pop()
    await bot.settle()


@pytest.fixture
async def there() -> AsyncIterator[Collector]:
    async with collecting() as opened:
        yield opened


async def everything(sending: Exporter) -> None:
    while await sending.send_some():
        pass


async def test_an_hour_without_a_collector_leaves_no_gap_and_sends_nothing_twice(
    there: Collector,
) -> None:
    async with talking("one", "two", "three") as bot:
        clock = ManualClock(instant=False)
        there.away = True
        working = asyncio.create_task(exporter(bot, there.url, clock).run())
        began = clock.now()
        while clock.now() - began < 3_600:
            if len(there.spans) == 0 and clock.now() - began in (0, 1_800, 3_000):
                await turn(bot)
            refused = there.refused
            await clock.asleep()
            clock.advance(300)
            async with asyncio.timeout(20):
                while there.refused == refused:  # noqa: ASYNC110 - it comes over HTTP
                    await asyncio.sleep(0.01)
        assert there.spans == []
        there.away = False
        await clock.asleep()
        clock.advance(300)
        runs = await there.until("invoke_agent nanobot", 3)
        for _ in range(3):
            await clock.asleep()
            clock.advance(300)
        working.cancel()
        assert len({span.trace_id for span in runs}) == 3
        assert len(there.named("chat scripted")) == 3
        assert len(there.named("send fake")) == 3
        assert len({span.span_id for span in there.spans}) == len(there.spans)


@pytest.mark.parametrize(
    ("reply", "pause"),
    [
        (Reply(status=429, headers={"Retry-After": "7"}), 7.0),
        (Reply(status=503, headers={"Retry-After": "9999999"}), 3_600.0),
        (Reply(status=503, headers={"Retry-After": "soon"}), None),
        (Reply(status=502), None),
        (Reply(status=401), None),
        (Reply(status=302, headers={"Location": "http://169.254.169.254/"}), None),
        (Reply(hangs=True), None),
        (Reply(drops=True), None),
    ],
)
async def test_a_collector_that_takes_nothing_now_gets_it_later(
    there: Collector, reply: Reply, pause: float | None
) -> None:
    async with talking("hi") as bot:
        await turn(bot)
        there.answers.append(reply)
        with pytest.raises(NotTaken) as refused:
            await everything(exporter(bot, there.url))
        assert (refused.value.pause, refused.value.useless) == (pause, False)
        assert there.spans == []
        await everything(exporter(bot, there.url))
        assert len(there.named("invoke_agent nanobot")) == 1


async def test_a_collector_may_name_a_date_for_the_next_attempt(there: Collector) -> None:
    async with talking("hi") as bot:
        await turn(bot)
        there.answers.append(Reply(status=429, headers={"Retry-After": formatdate(usegmt=True)}))
        with pytest.raises(NotTaken) as refused:
            await everything(exporter(bot, there.url))
        assert refused.value.pause == 0.0


async def test_the_next_attempt_waits_as_long_as_the_collector_asks_for(there: Collector) -> None:
    async with talking("hi") as bot:
        await turn(bot)
        there.answers += [
            Reply(status=429, headers={"Retry-After": "77"}),
            Reply(status=503),
            Reply(status=503),
        ]
        clock = ManualClock()
        working = asyncio.create_task(exporter(bot, there.url, clock).run())
        await there.until("invoke_agent nanobot")
        working.cancel()
        assert clock.sleeps[:3] == [77.0, 10.0, 20.0]


@pytest.mark.parametrize("status", [400, 413, 422])
async def test_what_a_collector_never_takes_does_not_hold_up_the_next(
    there: Collector, status: int
) -> None:
    async with talking("one", "two") as bot:
        await turn(bot)
        there.answers += [Reply(status=status)] * (1 if status != 413 else 20)
        await everything(exporter(bot, there.url))
        there.answers.clear()
        assert there.spans == []
        await turn(bot)
        await everything(exporter(bot, there.url))
        assert len(there.named("invoke_agent nanobot")) == 1


async def test_a_request_that_is_too_large_is_sent_in_smaller_ones(there: Collector) -> None:
    async with talking("hi") as bot:
        await turn(bot)
        there.answers += [Reply(status=413)]
        await everything(exporter(bot, there.url))
        whole, *halves = there.sizes
        assert sum(halves) == whole == len(there.spans)
        assert len(halves) == 2


@pytest.mark.parametrize(
    "reply", [Reply(body=b"\xff\xfe nonsense", takes=True), Reply(body=b"{}" * 50_000, takes=True)]
)
async def test_an_answer_that_is_nonsense_counts_as_taken(there: Collector, reply: Reply) -> None:
    async with talking("hi") as bot:
        await turn(bot)
        there.answers.append(reply)
        await everything(exporter(bot, there.url))
        await everything(exporter(bot, there.url))
        assert len(there.named("invoke_agent nanobot")) == 1


async def test_a_partial_success_is_told_and_not_sent_again(there: Collector) -> None:
    lines: list[str] = []
    sink = logger.add(lambda line: lines.append(str(line)), format="{message}")
    try:
        async with talking("hi") as bot:
            await turn(bot)
            there.answers.append(partial("too old"))
            await everything(exporter(bot, there.url))
            await everything(exporter(bot, there.url))
    finally:
        logger.remove(sink)
    assert len(there.sizes) == 1
    assert [line for line in lines if "too old" in line]


async def test_messages_are_sent_only_where_the_configuration_says_so(there: Collector) -> None:
    recorder = Recorder()
    answers = (asks_for("exec", text=f"use {SECRET}"), f"It is {SECRET}.")
    async with talking(*answers, tools=[recorder.tool()]) as bot:
        await turn(bot, f"my key is {SECRET}, thanks")
        await everything(exporter(bot, there.url))
        sent = b"".join(span.SerializeToString() for span in there.spans)
        assert b"my key is" not in sent
        assert b"planted" not in sent
        there.spans.clear()
    async with talking(*answers, tools=[recorder.tool()]) as bot:
        await turn(bot, f"my key is {SECRET}, thanks")
        content = Content(Redactor([SECRET]), whole=True)
        await everything(exporter(bot, there.url, content=content))
    sent = b"".join(span.SerializeToString() for span in there.spans)
    assert b"my key is [secret], thanks" in sent
    assert b"It is [secret]." in sent
    assert b"planted" not in sent
    (tool,) = there.named("execute_tool exec")
    about = text_attributes(tool)
    assert json.loads(about["gen_ai.tool.call.arguments"])["text"] == "use [secret]"
    _, last = there.named("chat scripted")
    given = json.loads(text_attributes(last)["gen_ai.input.messages"])
    assert [message["role"] for message in given] == ["user", "assistant", "tool"]
    (answer,) = json.loads(text_attributes(last)["gen_ai.output.messages"])
    assert answer["parts"] == [{"type": "text", "content": "It is [secret]."}]


async def test_long_messages_are_shortened_behind_the_removal_of_secrets(there: Collector) -> None:
    text = "x" * (MOST_TEXT - 20) + SECRET + "y" * 100_000
    async with talking("ok") as bot:
        await turn(bot, text)
        content = Content(Redactor([SECRET]), whole=True)
        await everything(exporter(bot, there.url, content=content))
    (call,) = there.named("chat scripted")
    (message,) = json.loads(text_attributes(call)["gen_ai.input.messages"])
    assert len(message["parts"][0]["content"]) <= MOST_TEXT
    assert "sk-" not in message["parts"][0]["content"]


async def test_the_standard_variables_choose_a_part_of_the_traces(there: Collector) -> None:
    async with talking("hi") as bot:
        await turn(bot)
        await everything(exporter(bot, there.url, OTEL_TRACES_SAMPLER="always_off"))
        assert there.sizes == []
    half = {"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.5"}
    taken = [sampler_of(half).takes(f"run {number}") for number in range(1_000)]
    assert 400 < sum(taken) < 600
    assert taken == [sampler_of(half).takes(f"run {number}") for number in range(1_000)]
    assert sampler_of({"OTEL_TRACES_SAMPLER": "jaeger_remote"}).takes("r")
    wrong = {**half, "OTEL_TRACES_SAMPLER_ARG": "many"}
    assert sampler_of(wrong).takes("r")


async def test_the_messages_of_a_run_are_found_by_their_keys(there: Collector) -> None:
    async def note(args: Args, context: CallContext) -> str:
        context.send("from the tool")
        return "sent"

    tool = Tool(name="note", description="Notes.", args=Args, run=note, effect=Effect.WORLD)
    async with talking(asks_for("note", text="x"), "done", tools=[tool]) as bot:
        bot.tools.blobs = MemoryBlobs()
        await bot.channel.push("hello")
        assert {(await bot.channel.pop()).text, (await bot.channel.pop()).text} == {
            "from the tool",
            "done",
        }
        await bot.settle()
        await everything(exporter(bot, there.url))
        plan = bot.home.do(
            lambda connection: connection.exec_driver_sql(
                "EXPLAIN QUERY PLAN SELECT * FROM outbound WHERE key IN ('a', 'b') AND run_id = 'r'"
            ).fetchall()
        )
    assert len(there.named("send fake")) == 2
    assert all("SCAN" not in str(row) for row in plan)
