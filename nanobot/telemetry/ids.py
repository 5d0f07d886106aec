"""The ids that name a run outside: in traces and in the log."""

from __future__ import annotations

import hashlib


def trace_id(run_id: str) -> str:
    """The trace of a run: whoever derives it gets the same one."""
    return hashlib.sha256(f"run {run_id}".encode()).hexdigest()[:32]
