"""The ids that name a run outside: in traces and in the log."""

from __future__ import annotations

import hashlib

from nanobot.telemetry.traceparent import TraceParent, parsed

_LINKED = "link "


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
