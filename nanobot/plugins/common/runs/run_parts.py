"""The parts of a run: its model calls, tool calls, stages and waits, derived from its log.

The timeline that people read and the spans of traces are both made of them. A pure function, also
for runs that a crash cut in two, that are still live, and whose entries were erased or cannot be
read: what such an entry held is missing, the rest is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

import msgspec

from nanobot.providers.base import ModelProfile, Usage
from nanobot.session.entries import (
    CUT_OFF,
    ApprovalEntry,
    AuxiliaryFailedEntry,
    DecisionEntry,
    Entry,
    FallbackEntry,
    ModelCallEntry,
    OverflowEntry,
    RecallEntry,
    ReplyEntry,
    SummaryEntry,
    ToolResultEntry,
    ToolStartedEntry,
    TriageEntry,
    kind_of,
)

_MOST_MS = 10**10

Kind: TypeAlias = Literal["stage", "model", "tool", "person"]
Outcome: TypeAlias = Literal["", "failed", "cut off", "open"]


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One part, between two times. `begun` and `ended`: the entries that say so, if there are such;
    `entry`: the later of them. A part that is "cut off" has no result: it ends where the run went
    on, or with the run."""

    kind: Kind
    name: str
    start: float
    end: float
    entry: Entry
    outcome: Outcome = ""
    begun: Entry | None = None
    ended: Entry | None = None

    @property
    def usage(self) -> Usage | None:
        """The tokens it took, if it was a model that was asked."""
        return None if self.ended is None else getattr(self.ended.body, "usage", None)

    @property
    def profile(self) -> ModelProfile | None:
        """The model that was asked, if known."""
        entry = self.begun if self.kind == "model" else self.ended
        return None if entry is None else getattr(entry.body, "profile", None)

    @property
    def cost(self) -> float | None:
        """In dollars, if known."""
        usage, profile = self.usage, self.profile
        if usage is None or profile is None or profile.price is None:
            return None
        return profile.price.of(usage.clamped())


def parts_of(own: Sequence[Entry], end: float, *, live: bool) -> list[Part]:
    """The parts in the entries of one run, which ended at `end`, or until then is `live`."""
    reading = _Reading()
    for entry in own:
        reading.read(entry)
    return [*reading.parts, *reading.unfinished(end, live=live)]


class _Reading:
    """The log of one run, read entry by entry."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self._call: Part | None = None
        self._tools: dict[tuple[int, int], Part] = {}
        self._asked: dict[int, Part] = {}

    def read(self, entry: Entry) -> None:
        """Take in the next entry."""
        match entry.body:
            case ModelCallEntry(profile=profile):
                self._end_call(entry, "cut off")
                self._call = _begun("model", profile.name, entry)
            case ReplyEntry() as reply:
                self._reply(entry, reply)
            case FallbackEntry() | OverflowEntry():
                self._end_call(entry, "failed")
            case ToolStartedEntry() as started:
                self._tools[started.call, started.index] = _begun("tool", started.name, entry)
            case ToolResultEntry() as result:
                self._result(entry, result)
            case AuxiliaryFailedEntry(stage=stage, ms=ms):
                self._took("stage", stage, entry, ms, "failed")
            case RecallEntry() | TriageEntry() | SummaryEntry() as stage_entry:
                self._took("stage", kind_of(stage_entry), entry, stage_entry.ms)
            case _:
                self._of_person(entry)

    def _of_person(self, entry: Entry) -> None:
        match entry.body:
            case ApprovalEntry(id=number):
                self._asked[number] = _begun("person", f"#{number}", entry)
            case DecisionEntry(id=number) if number in self._asked:
                self.parts.append(_ended(self._asked.pop(number), entry))
            case _:
                pass

    def unfinished(self, end: float, *, live: bool) -> Iterable[Part]:
        """What has no end in the log: it lasts until the end of the run, or until now."""
        calls = [] if self._call is None else [self._call]
        outcome: Outcome = "open" if live else "cut off"
        for part in (*calls, *self._tools.values(), *self._asked.values()):
            end_of_it = max(end, part.start)
            yield msgspec.structs.replace(part, end=end_of_it, outcome=outcome)

    def _end_call(self, entry: Entry, outcome: Outcome) -> None:
        if self._call is not None:
            part = _ended(self._call, entry, outcome)
            if outcome == "cut off":  # the entry is not about it
                part = msgspec.structs.replace(part, entry=self._call.entry, ended=None)
            self.parts.append(part)
        self._call = None

    def _reply(self, entry: Entry, reply: ReplyEntry) -> None:
        if reply.call == 0 and self._call is None:  # of a stage, or a call that was approved late
            return
        call, self._call = self._call, None
        outcome: Outcome = "cut off" if reply.partial else ""
        if call is None:
            self._took("model", "model", entry, reply.ms, outcome)
            return
        ended = _ended(call, entry, outcome)
        # A reply is recorded with what ends the run; its own time ends earlier.
        if reply.ms:
            end = min(ended.end, call.start + _seconds(reply.ms))
            ended = msgspec.structs.replace(ended, end=end)
        self.parts.append(ended)

    def _result(self, entry: Entry, result: ToolResultEntry) -> None:
        outcome: Outcome = "" if result.ok else "failed"
        if result.text.startswith(CUT_OFF):
            outcome = "cut off"
        started = self._tools.pop((result.call, result.index), None)
        if started is None:
            self._took("tool", result.name, entry, result.ms, outcome)
        else:
            self.parts.append(_ended(started, entry, outcome))

    def _took(self, kind: Kind, name: str, entry: Entry, ms: int, outcome: Outcome = "") -> None:
        """A part of which only the end is in the log, with how long it took."""
        start = entry.at - _seconds(ms)
        self.parts.append(
            Part(
                kind=kind,
                name=name,
                start=start,
                end=entry.at,
                entry=entry,
                outcome=outcome,
                ended=entry,
            )
        )


def _begun(kind: Kind, name: str, entry: Entry) -> Part:
    return Part(kind=kind, name=name, start=entry.at, end=entry.at, entry=entry, begun=entry)


def _ended(part: Part, entry: Entry, outcome: Outcome = "") -> Part:
    """With its end. The clock may have been set back meanwhile."""
    end = max(entry.at, part.start)
    return msgspec.structs.replace(part, end=end, entry=entry, outcome=outcome, ended=entry)


def _seconds(ms: int) -> float:
    return min(max(ms, 0), _MOST_MS) / 1000
