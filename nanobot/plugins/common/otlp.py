"""What every signal of OTLP has in common: as JSON, or as protobuf where its types are installed.

https://opentelemetry.io/docs/specs/otlp/ (1.10): in JSON, ids are hexadecimal and numbers of 64
bits are text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import isfinite
from pkgutil import resolve_name
from typing import Any, TypeAlias

import msgspec

from nanobot.plugins.common.optional import absent

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
    made = resolve_name(message)
    written: bytes = made(**_fields(request, made.DESCRIPTOR)).SerializeToString()
    return written


def _fields(values: dict[str, Any], of: Any) -> dict[str, Any]:
    """The values of OTLP's JSON as the fields of a message: several times faster than protobuf's
    own reader of JSON, which takes ids for base64 besides."""
    known = _readers(of)
    return {known[key][0]: known[key][1](value) for key, value in values.items()}


_KNOWN: dict[str, dict[str, tuple[str, Callable[[Any], Any]]]] = {}


def _readers(of: Any) -> dict[str, tuple[str, Callable[[Any], Any]]]:
    """For each field of a message by its name in JSON: its own name, and how it is read."""
    readers = _KNOWN.get(of.full_name)
    if readers is None:
        fields = of.fields_by_camelcase_name.items()
        readers = {key: (field.name, _reader(key, field)) for key, field in fields}
        _KNOWN[of.full_name] = readers
    return readers


def _reader(key: str, field: Any) -> Callable[[Any], Any]:
    one: Callable[[Any], Any] = _as_it_is
    if field.message_type is not None:
        one = partial(_fields, of=field.message_type)
    elif key in _IDS:
        one = bytes.fromhex
    elif field.cpp_type in _WHOLE:  # numbers of 64 bits are text in JSON
        one = int
    elif field.cpp_type in _REAL:  # so are those that are infinite
        one = float
    repeated = getattr(field, "is_repeated", None)  # not in protobuf 5
    if repeated is None:
        repeated = field.label == field.LABEL_REPEATED
    return partial(_each, one) if repeated else one


def _each(one: Callable[[Any], Any], values: list[Any]) -> list[Any]:
    return [one(value) for value in values]


def _as_it_is(value: Any) -> Any:
    return value


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
