"""A run as a waterfall in text: each step with its start and duration."""

from __future__ import annotations

from nanobot.plugins.common.runs.timeline import Piece, RunPage, Timeline, took, words

_MOST_LINES = 40
_WIDTH = 24


def waterfall_lines(page: RunPage) -> list[str]:
    """Where the time went, and the pieces of the run; of many, the longest."""
    lines: list[str] = []
    timeline = page.timeline
    if timeline is None or not timeline.pieces:
        return []
    if timeline.where:
        lines.append(f"Where the time went: {timeline.where}")
    longest = sorted(timeline.pieces, key=lambda piece: piece.start - piece.end)
    shown = set(map(id, longest[:_MOST_LINES]))
    lines += [_line(piece, timeline) for piece in timeline.pieces if id(piece) in shown]
    if rest := longest[_MOST_LINES:]:
        lines.append(
            f"({len(rest)} shorter steps are left out; the longest took "
            f"{took(rest[0].end - rest[0].start)})"
        )
    return [*lines, ""]


def _line(piece: Piece, timeline: Timeline) -> str:
    whole = max(timeline.end - timeline.start, 0.001)
    begin = min(int(_WIDTH * (piece.start - timeline.start) / whole), _WIDTH - 1)
    length = max(round(_WIDTH * (piece.end - piece.start) / whole), 1)
    bar = ("·" * begin + "█" * length)[:_WIDTH].ljust(_WIDTH, "·")
    at, lasted = took(piece.start - timeline.start), took(piece.end - piece.start)
    return f"{bar} {'+' + at:>7} {lasted:>6}  {words(piece.kind, piece.name)}{_details(piece)}"


def _details(piece: Piece) -> str:
    details = []
    if piece.first_ms:
        details.append(f"first word {took(piece.first_ms / 1000)}")
    if piece.tokens_in or piece.tokens_out:
        details.append(f"{piece.tokens_in:,} tokens in, {piece.tokens_out:,} out")
    if piece.cost is not None:
        details.append(f"${piece.cost:.4f}")
    if piece.outcome:
        details.append({"open": "still going on"}.get(piece.outcome, piece.outcome))
    return f" ({', '.join(details)})" if details else ""
