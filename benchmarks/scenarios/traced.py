"""What traces cost: the same turns without and with them."""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from benchmarks.figures import Measure, Sample, Scenario
from benchmarks.scenarios.talking import PAUSE, TALKER, WARM
from benchmarks.stage import BenchmarkError, Stage, Subject

PAIRS = 4
_PATIENCE = 60.0


@dataclass
class _Taken:
    url: str = ""
    runs: int = 0
    spans: int = 0

    async def take(self, request: web.Request) -> web.Response:
        message = ExportTraceServiceRequest.FromString(await request.read())
        for resource in message.resource_spans:
            for scope in resource.scope_spans:
                self.spans += len(scope.spans)
                self.runs += sum(span.name.startswith("invoke_agent") for span in scope.spans)
        return web.Response(content_type="application/x-protobuf")

    async def until(self, runs: int) -> None:
        try:
            async with asyncio.timeout(_PATIENCE):
                while self.runs < runs:  # noqa: ASYNC110 - it comes over HTTP
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise BenchmarkError(f"the collector got {self.runs} of {runs} runs") from None


@dataclass(frozen=True)
class _Half:
    median: float
    cpu: float
    spans: float = 0.0


async def traced(stage: Stage, _: Subject) -> Sample:
    """The same turns without and with traces, in pairs: the time and CPU that traces add, and the
    spans of a turn."""
    halves: dict[bool, list[_Half]] = {False: [], True: []}
    for number in range(PAIRS):
        for on in (False, True) if number % 2 else (True, False):
            halves[on].append(await _half(stage, on=on))
    pairs = list(zip(halves[False], halves[True], strict=True))
    return {
        "off": statistics.median(half.median for half in halves[False]),
        "on": statistics.median(half.median for half in halves[True]),
        "turn": 100 * (statistics.median(on.median / off.median for off, on in pairs) - 1),
        "cpu_off": statistics.median(half.cpu for half in halves[False]),
        "cpu": statistics.median(on.cpu - off.cpu for off, on in pairs),
        "spans": statistics.median(half.spans for half in halves[True]),
    }


async def _half(stage: Stage, *, on: bool) -> _Half:
    home, turns, warm = stage.home(), stage.effort.turns, 5
    async with _collecting() as taken:
        if on:
            with (home / "config.toml").open("a", encoding="utf-8") as file:
                file.write(f'[traces]\nenabled = true\nendpoint = "{taken.url}"\n')
        async with stage.gateway(Subject.NANOBOT, home) as gateway:
            await stage.converse([WARM], warm, pause=PAUSE)
            if on:
                await taken.until(warm)
            spans, before = taken.spans, gateway.cpu()
            talk = await stage.converse([TALKER], turns, pause=PAUSE)
            if on:
                await taken.until(warm + turns)
            cpu = gateway.cpu().since(before)
    return _Half(talk.median, cpu / turns, (taken.spans - spans) / turns)


@asynccontextmanager
async def _collecting() -> AsyncIterator[_Taken]:
    taken = _Taken()
    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.router.add_post("/v1/traces", taken.take)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    taken.url = f"http://{host}:{port}/v1/traces"
    try:
        yield taken
    finally:
        await runner.cleanup()


TRACED = Scenario(
    "traced",
    (
        Measure("off", "a turn without traces, median", "ms"),
        Measure("on", "a turn with traces, median", "ms"),
        Measure("turn", "what traces add to a turn, of pairs", "%"),
        Measure("cpu_off", "CPU of a turn without traces", "ms"),
        Measure("cpu", "what traces add to the CPU of a turn", "ms"),
        Measure("spans", "spans of a turn", ""),
    ),
    traced,
    subjects=(Subject.NANOBOT,),
)
