"""The remarks of plugins on the runs that a page of a log shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nanobot.operations.remarks import Remarks
from nanobot.session.views import EntryView, Remark
from nanobot.text import Sentence

if TYPE_CHECKING:
    from nanobot.plugins.common.store.runs import StoredRuns

MOST_RUNS = 50
"""A page of a conversation has remarks on so many runs, the latest."""


async def on_answers(
    remarks: Remarks, runs: StoredRuns, entries: Sequence[EntryView]
) -> tuple[Remark, ...]:
    """The remarks on the runs that have a reply among these entries."""
    if not remarks:
        return ()
    replied = dict.fromkeys(e.run_id for e in entries if e.kind == "reply" and e.run_id)
    found: list[Remark] = []
    for run_id in list(replied)[-MOST_RUNS:]:
        own = _whole(run_id, entries)
        if own is None:
            own = await runs.entries(run_id)
        found += await remarks.on(run_id, own)
    return tuple(found)


def _whole(run_id: str, entries: Sequence[EntryView]) -> Sequence[EntryView] | None:
    """All entries of a run, if they are certainly among these: it begins with a message, and
    something follows it."""
    own = [entry for entry in entries if entry.run_id == run_id]
    first = own[0]
    begins = first.kind == "user" and first.body is not None and not first.body.get("steered")
    return own if begins and own[-1].seq != entries[-1].seq else None


def remark_lines(remarks: Sequence[Remark]) -> list[Sentence]:
    """Remarks as lines of text."""
    pairs = ((f"! {remark.by}: {remark.text}", _where(remark)) for remark in remarks)
    return [" ".join(filter(None, pair)) for pair in pairs]


def _where(remark: Remark) -> Sentence:
    return f"(entry {remark.entry})" if remark.entry else ""
