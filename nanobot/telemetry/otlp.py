"""What every signal of OTLP has in common: as JSON, or as protobuf where its types are installed.

https://opentelemetry.io/docs/specs/otlp/ (1.10): in JSON, ids are hexadecimal and numbers of 64
bits are text.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from math import isfinite
from pkgutil import resolve_name
from typing import Any, TypeAlias

import msgspec

from nanobot.optional import absent

JSON, PROTOBUF = "application/json", "application/x-protobuf"
Value: TypeAlias = str | bool | int | float | Sequence[str]
_MOST_NUMBER = 2**63 - 1
_MOST_SECONDS = 9_000_000_000.0  # nanoseconds of it fit into 63 bits


def content_type(protocol: str) -> str:
    """How to write what is sent: as the variable says, else as protobuf where that can be."""
    if protocol == "http/json" or absent("traces"):
        return JSON
    return PROTOBUF


def encoded(request: dict[str, Any], kind: str, message: str) -> bytes:
    """The body of a request; `message` is the place of its protobuf type."""
    return msgspec.json.encode(request) if kind == JSON else _protobuf(request, message)


class _Partial(msgspec.Struct, frozen=True, rename="camel"):
    error_message: str = ""


class _Answer(msgspec.Struct, frozen=True, rename="camel"):
    partial_success: _Partial = _Partial()


def complaint_in(answer: bytes, kind: str, message: str) -> str:
    """Why a collector left some of that out which it took; "" if it says nothing. `message` is the
    place of the answer's protobuf type."""
    if kind == PROTOBUF:
        return _complaint_in_protobuf(answer, message)
    try:
        return msgspec.json.decode(answer, type=_Answer).partial_success.error_message
    except msgspec.DecodeError:
        return ""


def _complaint_in_protobuf(answer: bytes, message: str) -> str:
    from google.protobuf.message import (  # type: ignore[import-untyped]  # noqa: PLC0415
        DecodeError,
    )

    try:
        decoded = resolve_name(message).FromString(answer)
    except DecodeError:
        return ""
    return str(decoded.partial_success.error_message)


def _protobuf(request: dict[str, Any], message: str) -> bytes:
    from google.protobuf.json_format import (  # type: ignore[import-untyped]  # noqa: PLC0415
        ParseDict,
    )

    written: bytes = ParseDict(_with_base64(request), resolve_name(message)()).SerializeToString()
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


def attributes(known: Mapping[str, Value]) -> list[dict[str, Any]]:
    """Attributes as OTLP lists them."""
    return [{"key": key, "value": _value(value)} for key, value in known.items()]


def nanoseconds(seconds: float) -> int:
    """A reading of a clock, whatever it was, as OTLP holds it."""
    return int(max(0.0, min(seconds, _MOST_SECONDS)) * 1_000_000_000)


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
