"""What every signal of OTLP has in common: as JSON, or as protobuf where its types are installed.

https://opentelemetry.io/docs/specs/otlp/ (1.10): in JSON, ids are hexadecimal and numbers of 64
bits are text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from pkgutil import resolve_name
from typing import Any, TypeAlias

import msgspec

from nanobot.optional import absent

JSON, PROTOBUF = "application/json", "application/x-protobuf"
Value: TypeAlias = str | bool | int | float | Sequence[str]
_IDS = frozenset({"traceId", "spanId", "parentSpanId"})
_WHOLE = frozenset({1, 2, 3, 4})
_REAL = frozenset({5, 6})
"""The kinds of numbers, with those of protobuf's `cpp_type`."""
_MOST_NUMBER = 2**63 - 1
_MOST_SECONDS = 9_000_000_000.0  # nanoseconds of it fit into 63 bits


def content_type(protocol: str) -> str:
    """The format of requests: from the variable, else protobuf if it is available."""
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
    made = resolve_name(message)()
    _fill(made, request)
    written: bytes = made.SerializeToString()
    return written


def _fill(message: Any, values: dict[str, Any]) -> None:
    """Put the values of OTLP's JSON into a message: several times faster than protobuf's own reader
    of JSON, which takes ids for base64 besides."""
    fields = message.DESCRIPTOR.fields_by_camelcase_name
    for key, value in values.items():
        field = fields[key]
        name = field.name
        if isinstance(value, dict):
            below = getattr(message, name)
            below.SetInParent()
            _fill(below, value)
        elif isinstance(value, list):
            several = getattr(message, name)
            for item in value:
                if isinstance(item, dict):
                    _fill(several.add(), item)
                else:
                    several.append(_scalar(item, field.cpp_type))
        elif key in _IDS:
            setattr(message, name, bytes.fromhex(value))
        else:
            setattr(message, name, _scalar(value, field.cpp_type))


def _scalar(value: Any, kind: int) -> Any:
    """Numbers of 64 bits are text in JSON, and those that are infinite."""
    if not isinstance(value, str):
        return value
    return int(value) if kind in _WHOLE else float(value) if kind in _REAL else value


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
