"""Spans as OTLP over HTTP holds them: as JSON, or as protobuf where its types are installed.

https://opentelemetry.io/docs/specs/otlp/ (1.10): in JSON, ids are hexadecimal and numbers of 64
bits are text.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import msgspec

from nanobot.optional import absent
from nanobot.plugins.traces import names
from nanobot.plugins.traces.span import Span, Value, nanoseconds

JSON, PROTOBUF = "application/json", "application/x-protobuf"
_ERROR = 2
_MOST_NUMBER = 2**63 - 1


def content_type(protocol: str) -> str:
    """How to write what is sent: as the variable says, else as protobuf where that can be."""
    if protocol == "http/json" or absent("traces"):
        return JSON
    return PROTOBUF


def encoded(spans: Sequence[Span], resource: Mapping[str, Value], kind: str) -> bytes:
    """The body of a request to `/v1/traces`."""
    request = {
        "resourceSpans": [
            {
                "resource": {"attributes": _attributes(resource)},
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
    return msgspec.json.encode(request) if kind == JSON else _protobuf(request)


class _Partial(msgspec.Struct, frozen=True, rename="camel"):
    error_message: str = ""


class _Answer(msgspec.Struct, frozen=True, rename="camel"):
    partial_success: _Partial = _Partial()


def complaint_in(answer: bytes, kind: str) -> str:
    """Why a collector left some of the spans out that it took; "" if it says nothing."""
    if kind == PROTOBUF:
        return _complaint_in_protobuf(answer)
    try:
        return msgspec.json.decode(answer, type=_Answer).partial_success.error_message
    except msgspec.DecodeError:
        return ""


def _complaint_in_protobuf(answer: bytes) -> str:
    from google.protobuf.message import (  # type: ignore[import-untyped]  # noqa: PLC0415
        DecodeError,
    )
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (  # noqa: PLC0415
        ExportTraceServiceResponse,
    )

    try:
        message = ExportTraceServiceResponse.FromString(answer)
    except DecodeError:
        return ""
    return str(message.partial_success.error_message)


def _protobuf(request: dict[str, Any]) -> bytes:
    from google.protobuf.json_format import (  # type: ignore[import-untyped]  # noqa: PLC0415
        ParseDict,
    )
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (  # noqa: PLC0415
        ExportTraceServiceRequest,
    )

    message = ParseDict(_with_base64(request), ExportTraceServiceRequest())
    written: bytes = message.SerializeToString()
    return written


def _with_base64(value: Any) -> Any:
    """Ids as protobuf's own JSON writes bytes."""
    if isinstance(value, list):
        return [_with_base64(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: base64.b64encode(bytes.fromhex(item)).decode()
        if key in ("traceId", "spanId", "parentSpanId")
        else _with_base64(item)
        for key, item in value.items()
    }


def _span(span: Span) -> dict[str, Any]:
    start = nanoseconds(span.start)
    written: dict[str, Any] = {
        "traceId": span.trace,
        "spanId": span.id,
        "name": span.name,
        "kind": span.kind,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(max(start, nanoseconds(span.end))),
        "attributes": _attributes(span.attributes),
        "status": {"code": _ERROR, "message": span.error} if span.error else {},
        "links": [{"traceId": trace, "spanId": id_} for trace, id_ in span.links],
        "events": [
            {
                "name": event.name,
                "timeUnixNano": str(nanoseconds(event.at)),
                "attributes": _attributes(event.attributes),
            }
            for event in span.events
        ],
    }
    if span.parent:
        written["parentSpanId"] = span.parent
    return written


def _attributes(attributes: Mapping[str, Value]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in attributes.items()]


def _value(value: Value) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(max(-_MOST_NUMBER, min(value, _MOST_NUMBER)))}
        case float():
            return {"doubleValue": value if isfinite(value) else str(value)}
        case str():
            return {"stringValue": value}
        case _:
            return {"arrayValue": {"values": [_value(item) for item in value]}}
