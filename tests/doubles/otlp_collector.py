"""A collector of traces as the OTLP specification describes it, over the official protobuf types.

It answers with the next of `answers`, then takes everything.
"""

from __future__ import annotations

import asyncio
import gzip
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

PATIENCE = 45.0


@dataclass(frozen=True)
class Reply:
    """One answer. `hangs`: none comes; `drops`: the connection breaks instead. `takes`: the spans
    are kept all the same."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    hangs: bool = False
    drops: bool = False
    takes: bool = False


def partial(complaint: str, rejected: int = 1) -> Reply:
    """It took some of the spans, and says why not all."""
    success = ExportTracePartialSuccess(rejected_spans=rejected, error_message=complaint)
    body = ExportTraceServiceResponse(partial_success=success).SerializeToString()
    return Reply(body=body, takes=True)


class Collector:
    """`spans` holds what it took, `sizes` the number of spans in each request."""

    def __init__(self) -> None:
        self.url = ""
        self.spans: list[Any] = []
        self.sizes: list[int] = []
        self.headers: list[dict[str, str]] = []
        self.resources: list[dict[str, str]] = []
        self.answers: deque[Reply] = deque()
        self.away = False
        self.refused = 0
        self._free = asyncio.Event()

    async def take(self, request: web.Request) -> web.StreamResponse:
        """Handle a request to /v1/traces."""
        if self.away:
            self.refused += 1
            return web.Response(status=503, headers={"Retry-After": "0"})
        body = await request.read()
        if request.headers.get("Content-Encoding") == "gzip" and body[:2] == b"\x1f\x8b":
            body = gzip.decompress(body)
        message = ExportTraceServiceRequest.FromString(body)
        spans = [
            span
            for resource in message.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]
        self.headers.append(dict(request.headers))
        self.sizes.append(len(spans))
        reply = self.answers.popleft() if self.answers else Reply(takes=True)
        if reply.hangs:
            await self._free.wait()
        if reply.drops and request.transport is not None:
            request.transport.abort()
        if reply.takes:
            self.spans += spans
            self.resources += [text_attributes(each.resource) for each in message.resource_spans]
        return web.Response(
            status=reply.status,
            headers={"Content-Type": "application/x-protobuf", **reply.headers},
            body=reply.body,
        )

    def named(self, name: str) -> list[Any]:
        """The spans of that name, by their starts."""
        found = [span for span in self.spans if span.name == name]
        return sorted(found, key=lambda span: span.start_time_unix_nano)

    async def until(self, name: str, count: int = 1) -> list[Any]:
        """Wait for so many spans of that name."""
        async with asyncio.timeout(PATIENCE):
            while len(self.named(name)) < count:  # noqa: ASYNC110 - it comes over HTTP
                await asyncio.sleep(0.02)
        return self.named(name)

    def close(self) -> None:
        """Answer whoever still waits."""
        self._free.set()


@asynccontextmanager
async def collecting() -> AsyncIterator[Collector]:
    """A collector on a port of its own."""
    collector = Collector()
    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.router.add_post("/v1/traces", collector.take)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    collector.url = f"http://{host}:{port}/v1/traces"
    try:
        yield collector
    finally:
        collector.close()
        await runner.cleanup()


def text_attributes(span: Any) -> dict[str, str]:
    """The attributes of a span, of an event or of a resource that are texts."""
    return {pair.key: pair.value.string_value for pair in span.attributes}
