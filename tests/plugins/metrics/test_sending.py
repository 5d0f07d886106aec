"""Metrics of a whole gateway, as Prometheus and a collector get them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from prometheus_client.parser import text_string_to_metric_families

from nanobot.plugins.metrics.families import FAMILIES
from nanobot.testing.model import ScriptedProvider, asks_for
from tests.plugins.http_api.test_streams import reading
from tests.server.housing import House, house

Answer = Callable[[int], Awaitable[web.Response]]


class Collector:
    """A collector as the OTLP specification describes it, with a mood."""

    def __init__(self, answer: Answer | None) -> None:
        self.url = ""
        self.asked = 0
        self.taken: list[Any] = []
        self._answer = answer

    async def take(self, request: web.Request) -> web.Response:
        self.asked += 1
        if self._answer is not None:
            answer = await self._answer(self.asked)
            if answer.status != 200:
                return answer
        message = ExportMetricsServiceRequest.FromString(await request.read())
        self.taken.append(
            {each.name: each for each in message.resource_metrics[0].scope_metrics[0].metrics}
        )
        return web.Response(body=b"", content_type="application/x-protobuf")

    async def until(self, true: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while not true():  # noqa: ASYNC110 - it comes over HTTP
                await asyncio.sleep(0.02)


@asynccontextmanager
async def collecting(answer: Answer | None = None) -> AsyncIterator[Collector]:
    collector = Collector(answer)
    app = web.Application()
    app.router.add_post("/v1/metrics", collector.take)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    collector.url = f"http://{host}:{port}/v1/metrics"
    try:
        yield collector
    finally:
        await runner.cleanup()


async def turn(served: House) -> None:
    owner = await served.owner()
    async with reading(owner, "/api/sessions/web:desk/events") as reader:
        await reader.item()
        await owner.post("/api/sessions/web:desk/messages", text="go")
        await reader.until("end")


async def looked(served: House) -> dict[str, Any]:
    owner = await served.owner()
    async with owner.session.get(f"{served.url}/metrics", headers=owner.headers) as response:
        found = text_string_to_metric_families(await response.text())
        return {
            sample.name + str(sorted(sample.labels.items())): sample.value
            for family in found
            for sample in family.samples
        }


def sending(collector: Collector) -> str:
    return f'[metrics]\nsend = true\nendpoint = "{collector.url}"\ninterval = 0.2'


async def test_prometheus_gets_every_family_and_the_times_of_a_turn(tmp_path: Path) -> None:
    script = ScriptedProvider(asks_for("list_dir", path="."), "done")
    async with house(tmp_path / "home", script) as served:
        await turn(served)
        async with asyncio.timeout(20):
            found = await looked(served)
            while found.get("nanobot_claim_to_receipt_seconds_count[('channel', 'web')]") != 1:
                await asyncio.sleep(0.05)
                found = await looked(served)
    names = {name.partition("[")[0] for name in found}
    for family in FAMILIES:
        of_it = {f"nanobot_{family.name}{end}" for end in ("", "_bucket", "_count")}
        # The page's channel is none of the configuration, and is never owed for long.
        by_channel = family.labels == ("channel",) and family.kind == "gauge"
        assert of_it & names or by_channel, family.name
    for name in ("turn", "first_word", "admission_to_claim", "claim_to_receipt"):
        assert found[f"nanobot_{name}_seconds_count[('channel', 'web')]"] == 1, name
    assert found["nanobot_tool_call_seconds_count[('tool', 'list_dir')]"] == 1
    assert found["nanobot_store_transaction_seconds_count[]"] > 6
    assert found["nanobot_store_sync_seconds_count[]"] > 3
    assert found["nanobot_store_size_bytes[]"] > 10_000
    assert found["nanobot_disk_size_bytes[]"] > found["nanobot_disk_free_bytes[]"] > 0
    assert found["nanobot_budget_used_ratio[('measure', 'tokens')]"] >= 0


async def test_a_collector_gets_the_same_and_all_of_it_after_it_was_away(tmp_path: Path) -> None:
    async def at_first_away(asked: int) -> web.Response:
        return web.Response(status=503 if asked < 3 else 200, headers={"Retry-After": "0"})

    async with collecting(at_first_away) as collector:
        config = sending(collector)
        async with house(tmp_path / "home", ScriptedProvider("done"), config) as served:
            await turn(served)
            await collector.until(lambda: len(collector.taken) > 1)
            (ended,) = (
                point.as_double
                for point in collector.taken[-1]["nanobot.runs"].sum.data_points
                if point.attributes[0].value.string_value == "completed"
            )
            assert ended == 1
            (answer,) = collector.taken[-1]["nanobot.turn"].histogram.data_points
            assert answer.count == 1
            assert {"nanobot.uptime", "nanobot.store_size"} <= set(collector.taken[-1])


@pytest.mark.process
async def test_a_collector_that_is_slow_or_talks_nonsense_stops_nobody(tmp_path: Path) -> None:
    partial = ExportMetricsServiceResponse()
    partial.partial_success.error_message = "too many"
    moods: tuple[Answer, ...] = (_hangs, _nonsense, _less(partial.SerializeToString()), _refuses)
    for number, mood in enumerate(moods):
        async with collecting(mood) as collector:
            home, config = tmp_path / f"home{number}", sending(collector)
            async with house(home, ScriptedProvider("done"), config) as served:
                await collector.until(lambda c=collector: c.asked > 0)  # type: ignore[misc]
                await turn(served)
                found = await looked(served)
                assert found["nanobot_runs_total[('state', 'completed')]"] == 1


async def _hangs(_asked: int) -> web.Response:
    await asyncio.sleep(60)
    return web.Response()


async def _nonsense(_asked: int) -> web.Response:
    return web.Response(status=207, body=b"\xff<html>" * 10_000)


async def _refuses(_asked: int) -> web.Response:
    return web.Response(status=400, text="no")


def _less(body: bytes) -> Answer:
    async def less(_asked: int) -> web.Response:
        return web.Response(status=202, body=body, content_type="application/x-protobuf")

    return less


async def test_nothing_is_sent_unless_it_is_switched_on(tmp_path: Path) -> None:
    async with collecting() as collector:
        config = f'[metrics]\nendpoint = "{collector.url}"\ninterval = 0.2'
        async with house(tmp_path / "home", ScriptedProvider("done"), config) as served:
            await turn(served)
            await asyncio.sleep(0.5)
    assert collector.asked == 0
