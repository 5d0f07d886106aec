"""A span, its names and its times.

The ids are hashes of what they name, so that whoever derives them again gets the same ones: a run
that was killed and resumed is one trace, and a span that is sent twice is one span.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec

from nanobot.telemetry.otlp import Value

INTERNAL, CLIENT, PRODUCER, CONSUMER = 1, 3, 4, 5
"""Kinds of spans, as OTLP numbers them."""


class SpanEvent(msgspec.Struct, frozen=True):
    """Something at one moment of a span; `at` in seconds since 1970."""

    name: str
    at: float
    attributes: Mapping[str, Value] = {}


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """One span. Ids are hexadecimal, times are seconds since 1970. `error` "": none. `links`: the
    (trace, span) that came before it elsewhere."""

    trace: str
    id: str
    parent: str = ""
    name: str
    kind: int = INTERNAL
    start: float
    end: float
    attributes: Mapping[str, Value] = {}
    error: str = ""
    links: tuple[tuple[str, str], ...] = ()
    events: tuple[SpanEvent, ...] = ()


class Sent(msgspec.Struct, frozen=True, kw_only=True):
    """An answer of the run on its way to its chat; `settled_at` None: it is still to be sent."""

    key: str
    channel: str
    created_at: float
    settled_at: float | None
    error: str = ""
    maybe_duplicate: bool = False


def span_id(run_id: str, *place: object) -> str:
    """The span of something of a run."""
    return hashlib.sha256(f"{run_id} {place}".encode()).hexdigest()[:16]


def conversation(session_key: str) -> str:
    """What a conversation is called outside: its key may hold somebody's number."""
    return hashlib.sha256(session_key.encode()).hexdigest()[:16]
