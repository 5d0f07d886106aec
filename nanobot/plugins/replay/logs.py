"""Reads a stored session for a replay: its log and its prompts, in short transactions."""

from __future__ import annotations

import asyncio

import msgspec

from nanobot.errors import RowUnreadable
from nanobot.plugins.common.store.session_log import SqlSessionLog
from nanobot.plugins.common.views.entry_views import EntryView
from nanobot.plugins.replay.replaying import Replayed, prompts_of, replayed
from nanobot.session.entries import Entry, decode
from nanobot.session.journal import Journal
from nanobot.session.runs import PromptSnapshot


async def replayed_log(
    log: SqlSessionLog, journal: Journal, key: str, upto: int, only_run: str = ""
) -> Replayed:
    """Replay a session up to an entry, on a thread; messages added in the meantime are not read.
    Raises RowUnreadable for an entry that this version cannot read.
    """
    views = await log.entries(key, after=0, limit=max(upto, 1))
    entries = await asyncio.to_thread(_entries, key, views)
    prompts: dict[str, PromptSnapshot] = {}
    for name in prompts_of(entries):
        if (prompt := await journal.snapshot(name)) is not None:
            prompts[name] = prompt
    return await asyncio.to_thread(replayed, entries, prompts, only_run)


def _entries(key: str, views: tuple[EntryView, ...]) -> list[Entry]:
    return [entry_of(key, view) for view in views]


def entry_of(key: str, view: EntryView) -> Entry:
    """The typed entry of a view. Raises RowUnreadable that names the entry and the remedy."""
    if view.body is None:
        return Entry(view.seq, view.run_id, view.at, None)
    try:
        body = decode(msgspec.json.encode(view.body))
    except RowUnreadable as error:
        raise RowUnreadable(
            f"entry {view.seq} of {key} is a {view.kind} that this version cannot read; "
            "replay it with the version of nanobot that wrote it",
            "entries",
        ) from error
    return Entry(view.seq, view.run_id, view.at, body)
