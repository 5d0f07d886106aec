"""The summary that stands for older entries of a conversation."""

from __future__ import annotations

from collections.abc import Sequence

from nanobot.session.entries import Entry, SummaryEntry, SummaryUndoneEntry


def latest(entries: Sequence[Entry]) -> SummaryEntry | None:
    """The current summary; None if there is none, or it was undone."""
    for entry in reversed(entries):
        if isinstance(entry.body, SummaryEntry) and entry.body.upto < entry.seq:
            return entry.body
        if isinstance(entry.body, SummaryUndoneEntry):
            return None
    return None
