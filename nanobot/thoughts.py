"""What the stages of a run besides acting leave in a session's log: entries like any other."""

from __future__ import annotations

import msgspec

from nanobot.providers.base import ModelProfile, Usage


class RecallEntry(msgspec.Struct, frozen=True, kw_only=True, tag="recall", omit_defaults=True):
    """What memory added to the run's messages before the first model call: memories `found`."""

    text: str
    found: tuple[int, ...] = ()
    tainted: bool = False
    ms: int = 0


class TriageEntry(msgspec.Struct, frozen=True, kw_only=True, tag="triage", omit_defaults=True):
    """What was decided before acting (`decision`: reply, run, reply_and_run, or act for none of
    them). `wanted` is the background run to start, as JSON; `key` makes it one run, however often
    it is started. `profile`: who decided."""

    decision: str
    reply: str = ""
    wanted: str = ""
    key: str = ""
    confidence: float = 0.0
    reason: str = ""
    usage: Usage | None = None
    ms: int = 0
    profile: ModelProfile | None = None


class RememberEntry(msgspec.Struct, frozen=True, kw_only=True, tag="remember", omit_defaults=True):
    """What is kept in memory of entries `first` to `upto`; empty if nothing there is worth it.
    `profile`: who summed it up."""

    text: str
    first: int
    upto: int
    usage: Usage | None = None
    profile: ModelProfile | None = None
