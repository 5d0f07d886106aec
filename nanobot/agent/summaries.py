"""The summary that stands for older entries of a conversation."""

from __future__ import annotations

from collections.abc import Sequence

from nanobot.session.entries import Entry, SummaryEntry, SummaryUndoneEntry


def latest(entries: Sequence[Entry]) -> SummaryEntry | None:
    """The current summary; None if there is none, or it was undone."""
    for entry in reversed(entries):
        body = entry.body
        if type(body) is SummaryEntry and body.upto < entry.seq:
            return body
        if type(body) is SummaryUndoneEntry:
            return None
    return None
