"""When a run did what, derived from its log: a pure function.

It also serves runs that a crash cut in two, that are still live, and whose entries were erased or
cannot be read: what such an entry held is missing, the rest is there.
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
    UserEntry,
)
from nanobot.session.views import Delivery, EntryView, FeedbackView, Remark, RunView

_MOST_MS = 10**10
_SLOW = 1.0
_IDLE = 1.0
"""A gap of so many seconds, in which nothing was recorded, is a piece of its own."""

Kind: TypeAlias = Literal["queue", "stage", "model", "tool", "person", "delivery", "idle"]
Outcome: TypeAlias = Literal["", "failed", "cut off", "open"]


class Piece(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing a run did or waited for, between two times. `seq`: the entry that says so. A model
    call has the milliseconds to its first word, its tokens, and its cost in dollars if known."""

    kind: Kind
    name: str
    start: float
    end: float
    outcome: Outcome = ""
    seq: int = 0
    first_ms: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = None


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """The pieces of a run by their starts. `where` says where the time of a slow run went."""

    start: float
    end: float
    pieces: tuple[Piece, ...] = ()
    where: str = ""


class RunPage(msgspec.Struct, frozen=True, kw_only=True):
    """A run with its entries, in order. `timeline`: when it did what. `remarks`: of plugins."""

    run: RunView
    entries: tuple[EntryView, ...]
    feedback: tuple[FeedbackView, ...] = ()
    timeline: Timeline | None = None
    remarks: tuple[Remark, ...] = ()


class Times(msgspec.Struct, frozen=True, kw_only=True):
    """Which run it is, and when it was made and ended."""

    run_id: str
    created_at: float
    ended_at: float | None


class _Begun(msgspec.Struct, frozen=True):
    """A thing without an end yet."""

    piece: Piece
    profile: ModelProfile | None = None


def timeline_of(
    run: Times, entries: Sequence[Entry], deliveries: Iterable[Delivery], now: float
) -> Timeline:
    """What is known of a run, as of `now`."""
    own = [entry for entry in entries if entry.run_id == run.run_id]
    reading = _Reading()
    for entry in own:
        reading.read(entry)
    last = max([run.created_at, *(entry.at for entry in own)])
    end = max(now, last) if run.ended_at is None else max(run.ended_at, run.created_at)
    pieces = [*_queue(run, own), *reading.pieces]
    pieces += reading.unfinished(end, live=run.ended_at is None)
    pieces += _idle(run.created_at, end, pieces)
    if run.ended_at is not None:  # until then it is a preview, which grows with the run
        pieces += [_delivered(each, run.ended_at, now) for each in deliveries]
    pieces.sort(key=lambda piece: (piece.start, piece.seq))
    start = min([run.created_at, *(piece.start for piece in pieces)])
    end = max([end, *(piece.end for piece in pieces)])
    return Timeline(start=start, end=end, pieces=tuple(pieces), where=_where(pieces, end - start))


class _Reading:
    """The log of one run, read entry by entry."""

    def __init__(self) -> None:
        self.pieces: list[Piece] = []
        self._call: _Begun | None = None
        self._tools: dict[tuple[int, int], _Begun] = {}
        self._asked: dict[int, _Begun] = {}

    def read(self, entry: Entry) -> None:
        """Take in the next entry."""
        match entry.body:
            case ModelCallEntry() | ReplyEntry() | FallbackEntry() | OverflowEntry():
                self._of_model(entry, entry.body)
            case ToolStartedEntry() | ToolResultEntry():
                self._of_tool(entry, entry.body)
            case ApprovalEntry() | DecisionEntry():
                self._of_person(entry, entry.body)
            case RecallEntry(ms=ms):
                self._stage(entry, "recall", ms)
            case TriageEntry(ms=ms, usage=usage, profile=profile):
                self._stage(entry, "triage", ms, usage, profile)
            case SummaryEntry(ms=ms, usage=usage, profile=profile):
                self._stage(entry, "summary", ms, usage, profile)
            case AuxiliaryFailedEntry(stage=stage, ms=ms):
                self._stage(entry, stage, ms, outcome="failed")
            case _:
                pass

    def _of_model(
        self, entry: Entry, body: ModelCallEntry | ReplyEntry | FallbackEntry | OverflowEntry
    ) -> None:
        if isinstance(body, ReplyEntry):
            self._reply(entry, body)
        elif isinstance(body, ModelCallEntry):
            self._end_call(entry.at, "cut off")
            name, at = body.profile.name, entry.at
            piece = Piece(kind="model", name=name, start=at, end=at, seq=entry.seq)
            self._call = _Begun(piece, body.profile)
        else:
            self._end_call(entry.at, "failed")

    def _of_tool(self, entry: Entry, body: ToolStartedEntry | ToolResultEntry) -> None:
        if isinstance(body, ToolResultEntry):
            self._result(entry, body)
            return
        piece = Piece(kind="tool", name=body.name, start=entry.at, end=entry.at, seq=entry.seq)
        self._tools[body.call, body.index] = _Begun(piece)

    def _of_person(self, entry: Entry, body: ApprovalEntry | DecisionEntry) -> None:
        if isinstance(body, ApprovalEntry):
            name, at = f"#{body.id}", entry.at
            piece = Piece(kind="person", name=name, start=at, end=at, seq=entry.seq)
            self._asked[body.id] = _Begun(piece)
        elif (begun := self._asked.pop(body.id, None)) is not None:
            self.pieces.append(_ended(begun.piece, entry.at))

    def unfinished(self, end: float, *, live: bool) -> Iterable[Piece]:
        """What has no end in the log: it lasts until the end of the run, or until now."""
        begun = [*([self._call] if self._call else []), *self._tools.values()]
        outcome: Outcome = "open" if live else "cut off"
        for each in (*begun, *self._asked.values()):
            yield _ended(each.piece, end, outcome)

    def _end_call(self, at: float, outcome: Outcome) -> None:
        if self._call is not None:
            self.pieces.append(_ended(self._call.piece, at, outcome))
        self._call = None

    def _reply(self, entry: Entry, reply: ReplyEntry) -> None:
        if reply.call == 0 and self._call is None:  # of a stage, or a call that was approved late
            return
        begun, self._call = self._call, None
        start = entry.at - _seconds(reply.ms)
        piece = Piece(kind="model", name="model", start=start, end=entry.at)
        profile = None if begun is None else begun.profile
        piece = piece if begun is None else begun.piece
        # A reply is recorded with what ends the run; its own time ends earlier.
        ends = min(entry.at, piece.start + _seconds(reply.ms)) if reply.ms else entry.at
        ended = _ended(piece, ends, "cut off" if reply.partial else "")
        ended = _priced(ended, reply.usage, profile)
        self.pieces.append(
            msgspec.structs.replace(ended, seq=entry.seq, first_ms=max(reply.first_ms, 0))
        )

    def _result(self, entry: Entry, result: ToolResultEntry) -> None:
        begun = self._tools.pop((result.call, result.index), None)
        start = entry.at - _seconds(result.ms)
        piece = Piece(kind="tool", name=result.name, start=start, end=entry.at)
        if begun is not None:
            piece = begun.piece
        outcome: Outcome = "" if result.ok else "failed"
        if result.text.startswith(CUT_OFF):
            outcome = "cut off"
        self.pieces.append(msgspec.structs.replace(_ended(piece, entry.at, outcome), seq=entry.seq))

    def _stage(
        self,
        entry: Entry,
        name: str,
        ms: int,
        usage: Usage | None = None,
        profile: ModelProfile | None = None,
        outcome: Outcome = "",
    ) -> None:
        piece = Piece(
            kind="stage",
            name=name,
            start=entry.at - _seconds(ms),
            end=entry.at,
            outcome=outcome,
            seq=entry.seq,
        )
        self.pieces.append(_priced(piece, usage, profile))


def _queue(run: Times, own: Sequence[Entry]) -> Iterable[Piece]:
    """How long the first message waited, from when it was sent to the run's first entry."""
    first = next((entry for entry in own), None)
    if first is None:
        return
    start = run.created_at
    if isinstance(first.body, UserEntry) and 0 < first.body.sent_at < first.at:
        start = min(start, first.body.sent_at)
    if first.at - start > 0.0:
        yield Piece(kind="queue", name="queue", start=start, end=first.at, seq=first.seq)


def _idle(start: float, end: float, pieces: Sequence[Piece]) -> list[Piece]:
    """The longer gaps between the pieces: the gateway did something else, or was not running."""
    gaps: list[Piece] = []
    reached = start
    for piece in sorted(pieces, key=lambda piece: piece.start):
        if piece.start - reached >= _IDLE:
            gaps.append(Piece(kind="idle", name="idle", start=reached, end=piece.start))
        reached = max(reached, piece.end)
    if end - reached >= _IDLE:
        gaps.append(Piece(kind="idle", name="idle", start=reached, end=end))
    return gaps


def _delivered(delivery: Delivery, ended_at: float, now: float) -> Piece:
    start = max(delivery.created_at, ended_at)
    end = delivery.settled_at
    outcome: Outcome = "" if end is not None else "open"
    if delivery.state == "dead":
        outcome = "failed"
    return Piece(
        kind="delivery",
        name=delivery.channel,
        start=start,
        end=max(now if end is None else end, start),
        outcome=outcome,
    )


def _where(pieces: Sequence[Piece], whole: float) -> str:
    """The one thing that took most of the time, as "31 s of 42 s: waiting for approval #12"."""
    if whole < _SLOW:
        return ""
    spans: dict[tuple[Kind, str], list[tuple[float, float]]] = {}
    for piece in pieces:
        spans.setdefault((piece.kind, piece.name), []).append((piece.start, piece.end))
    lasted = {what: (_covered(parts), len(parts)) for what, parts in spans.items()}
    if not lasted:
        return ""
    what = max(lasted, key=lambda each: lasted[each][0])
    seconds, count = lasted[what]
    times = f", {count} times" if count > 1 else ""
    return f"{took(seconds)} of {took(whole)}: {words(*what)}{times}"


def words(kind: Kind, name: str) -> str:
    """What a piece is, as people read it."""
    match kind:
        case "queue":
            return "waiting in the queue"
        case "person":
            return f"waiting for your approval {name}"
        case "delivery":
            return f"delivery to {name}"
        case "idle":
            return "nothing recorded (the gateway was busy or not running)"
        case _:
            return f"{kind} {name}"


def took(seconds: float) -> str:
    """A duration in a word or two."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 600:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 36_000 else f"{seconds / 3600:.0f} h"


def _covered(parts: Iterable[tuple[float, float]]) -> float:
    """How long at least one of these lasted: what stands side by side counts once."""
    total, reached = 0.0, float("-inf")
    for start, end in sorted(parts):
        total += max(end - max(start, reached), 0.0)
        reached = max(reached, end)
    return total


def _ended(piece: Piece, at: float, outcome: Outcome = "") -> Piece:
    """With its end. The clock may have been set back meanwhile."""
    return msgspec.structs.replace(piece, end=max(at, piece.start), outcome=outcome)


def _priced(piece: Piece, usage: Usage | None, profile: ModelProfile | None) -> Piece:
    if usage is None:
        return piece
    known = usage.clamped()
    price = None if profile is None else profile.price
    return msgspec.structs.replace(
        piece,
        tokens_in=known.prompt_tokens,
        tokens_out=known.completion_tokens,
        cost=None if price is None else price.of(known),
    )


def _seconds(ms: int) -> float:
    return min(max(ms, 0), _MOST_MS) / 1000
