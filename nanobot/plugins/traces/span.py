"""A span, its names and its times.

The ids are hashes of the things they identify, so that deriving them again gives the same ids: a
run that was killed and resumed is one trace, and a span that is sent twice is one span.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec

from nanobot.plugins.common.otlp import Value

INTERNAL, CLIENT, PRODUCER, CONSUMER = 1, 3, 4, 5
"""Kinds of spans, with OTLP's numbers."""


class SpanEvent(msgspec.Struct, frozen=True):
    """An event at one moment of a span; `at` in seconds since 1970."""

    name: str
    at: float
    attributes: Mapping[str, Value] = {}


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """One span. Ids are hexadecimal, times are seconds since 1970. `error`: "" if there was none.
    `links`: the (trace, span) pairs that preceded it elsewhere. It never ends before it starts,
    whatever the clock did.
    """

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
    """The delivery of an answer of the run to its chat; `settled_at` None: not yet sent."""

    key: str
    channel: str
    created_at: float
    settled_at: float | None
    error: str = ""
    maybe_duplicate: bool = False


def span_id(run_id: str, *place: object) -> str:
    """The span id of a part of a run."""
    return hashlib.sha256(f"{run_id} {place}".encode()).hexdigest()[:16]


def hashed(key: str) -> str:
    """The id of a conversation or person for collectors: the key itself may contain a phone
    number."""
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:16]
