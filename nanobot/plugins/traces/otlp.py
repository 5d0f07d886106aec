"""Spans encoded as OTLP over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from nanobot.plugins.common import otlp
from nanobot.plugins.common.collector import Collector
from nanobot.plugins.common.otlp import Value, attributes, nanoseconds
from nanobot.plugins.traces import names
from nanobot.plugins.traces.span import Span

_ERROR = 2
_SERVICE = "opentelemetry.proto.collector.trace.v1.trace_service_pb2"


def encoded(spans: Sequence[Span], resource: dict[str, Value], kind: str) -> bytes:
    """The body of a request to `/v1/traces`."""
    request = {
        "resourceSpans": [
            {
                "resource": {"attributes": attributes(resource)},
                "scopeSpans": [
                    {
                        "scope": {"name": names.SCOPE},
                        "spans": [_span(span) for span in spans],
                        "schemaUrl": names.SCHEMA_URL,
                    }
                ],
                "schemaUrl": names.SCHEMA_URL,
            }
        ]
    }
    return otlp.encoded(request, kind, f"{_SERVICE}:ExportTraceServiceRequest")


class SpanCollector(msgspec.Struct, frozen=True):
    """A collector that receives spans."""

    collector: Collector

    async def take(self, spans: Sequence[Span]) -> str:
        """Send these; returns what the collector complains about although it accepted them. Raises
        NotTaken.
        """
        kind = self.collector.kind
        said = await self.collector.post(encoded(spans, {**self.collector.resource}, kind))
        return otlp.complaint_in(said, kind, f"{_SERVICE}:ExportTraceServiceResponse")


def _span(span: Span) -> dict[str, Any]:
    start = nanoseconds(span.start)
    written: dict[str, Any] = {
        "traceId": span.trace,
        "spanId": span.id,
        "name": span.name,
        "kind": span.kind,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(max(start, nanoseconds(span.end))),
        "attributes": attributes(span.attributes),
        "status": {"code": _ERROR, "message": span.error} if span.error else {},
        "links": [{"traceId": trace, "spanId": id_} for trace, id_ in span.links],
        "events": [
            {
                "name": event.name,
                "timeUnixNano": str(nanoseconds(event.at)),
                "attributes": attributes(event.attributes),
            }
            for event in span.events
        ],
    }
    if span.parent:
        written["parentSpanId"] = span.parent
    return written
