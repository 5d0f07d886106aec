"""The trace that a run belongs to, in the log and outside: W3C Trace Context joins the traces of
several programs by the header `traceparent`.

https://www.w3.org/TR/trace-context/ (level 1, version 00). `tracestate` is neither kept nor sent.
"""

from __future__ import annotations

import hashlib
import re

import msgspec

TRACEPARENT = "traceparent"

_LINKED = "link "
_FORM = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.{0,400})?")
_SAMPLED = 1


class TraceParent(msgspec.Struct, frozen=True):
    """A span of another program. `sampled`: its trace is recorded."""

    trace: str
    span: str
    sampled: bool = True

    def __str__(self) -> str:
        return f"00-{self.trace}-{self.span}-{int(self.sampled):02x}"


def parsed(text: str) -> TraceParent | None:
    """The span that a header names; None if it is malformed. Of later versions only the part that
    this one knows counts, as the specification demands.
    """
    found = _FORM.fullmatch(text.strip(" \t")) if len(text) <= 500 else None
    if found is None:
        return None
    version, trace, span, flags, more = found.groups()
    if version == "ff" or (version == "00" and more) or not (int(trace, 16) and int(span, 16)):
        return None
    return TraceParent(trace, span, bool(int(flags, 16) & _SAMPLED))


def kept(parent: TraceParent, *, continued: bool) -> str:
    """The text that is stored with a message: its run continues that trace, or links to it."""
    return f"{'' if continued else _LINKED}{parent}"


def continued(kept: str) -> TraceParent | None:
    """The span that a run continues, by the text of `kept`; None if there is none."""
    return None if kept.startswith(_LINKED) else parsed(kept)


def linked(kept: str) -> TraceParent | None:
    """The span that a run only links to; None if there is none."""
    return parsed(kept.removeprefix(_LINKED)) if kept.startswith(_LINKED) else None


def trace_id(run_id: str, kept: str = "") -> str:
    """The trace of a run: deriving it again gives the same one. `kept`: what its first message that
    came with a trace came with.
    """
    parent = continued(kept) if kept else None
    if parent is not None:
        return parent.trace
    return hashlib.sha256(f"run {run_id}".encode()).hexdigest()[:32]
