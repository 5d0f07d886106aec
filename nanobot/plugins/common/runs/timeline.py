"""When a run did what, derived from its log: a pure function."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

import msgspec

from nanobot.plugins.common.runs.ratings import FeedbackView
from nanobot.plugins.common.runs.run_parts import Outcome, Part, parts_of
from nanobot.plugins.common.views.entry_views import EntryView
from nanobot.plugins.common.views.outbox import Delivery
from nanobot.plugins.common.views.remarks import Remark
from nanobot.plugins.common.views.views import RunView
from nanobot.session.entries import Entry, ReplyEntry, UserEntry

_SLOW = 1.0
_IDLE = 1.0
"""A gap of so many seconds, in which nothing was recorded, is a piece of its own."""

Kind: TypeAlias = Literal["queue", "stage", "model", "tool", "person", "delivery", "idle"]


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


def timeline_of(
    run: Times, entries: Sequence[Entry], deliveries: Iterable[Delivery], now: float
) -> Timeline:
    """The timeline of a run at the time `now`."""
    own = [entry for entry in entries if entry.run_id == run.run_id]
    last = max([run.created_at, *(entry.at for entry in own)])
    end = max(now, last) if run.ended_at is None else max(run.ended_at, run.created_at)
    parts = parts_of(own, end, live=run.ended_at is None)
    pieces = [*_queue(run, own), *map(_piece, parts)]
    pieces += _idle(run.created_at, end, pieces)
    if run.ended_at is not None:  # until then it is a preview, which grows with the run
        pieces += [_delivered(each, run.ended_at, now) for each in deliveries]
    pieces.sort(key=lambda piece: (piece.start, piece.seq))
    start = min([run.created_at, *(piece.start for piece in pieces)])
    end = max([end, *(piece.end for piece in pieces)])
    return Timeline(start=start, end=end, pieces=tuple(pieces), where=_where(pieces, end - start))


def _piece(part: Part) -> Piece:
    ended = None if part.ended is None else part.ended.body
    usage = None if part.usage is None else part.usage.clamped()
    return Piece(
        kind=part.kind,
        name=part.name,
        start=part.start,
        end=part.end,
        outcome=part.outcome,
        seq=part.begun.seq if part.kind == "person" and part.begun else part.entry.seq,
        first_ms=max(ended.first_ms, 0) if isinstance(ended, ReplyEntry) else 0,
        tokens_in=0 if usage is None else usage.prompt_tokens,
        tokens_out=0 if usage is None else usage.completion_tokens,
        cost=part.cost,
    )


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
    """The total time covered by these spans; overlapping time counts once."""
    total, reached = 0.0, float("-inf")
    for start, end in sorted(parts):
        total += max(end - max(start, reached), 0.0)
        reached = max(reached, end)
    return total
