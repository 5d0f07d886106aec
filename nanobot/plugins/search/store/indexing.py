"""Indexing: a background task adds new log entries to the full-text index.

It does not run in the transactions that write entries: turns do not become slower, and the same
code fills the index for a home that had none. `indexed_logs` records the progress of each session,
so nothing is lost when the process ends; a message can be found a second after it was written.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial

from nanobot.boundary import boundary
from nanobot.bus.core import Bus
from nanobot.errors import StoreCorrupt
from nanobot.messages import EventKind, RunEvent
from nanobot.plugins.common.event_handlers import Handler
from nanobot.plugins.common.times.looks import Looks, stirred
from nanobot.plugins.search.query import rows_of
from nanobot.plugins.search.store import log_words
from nanobot.plugins.search.store.log_words import IndexedEntry, Unindexed
from nanobot.session import entries as log_entries
from nanobot.session.entries import PostEntry, ReplyEntry, SummaryEntry, TriageEntry, UserEntry
from nanobot.store.database.database import Database
from nanobot.store.unit import StoreContext
from nanobot.store.verbs import SqlStore, verb
from nanobot.supervision import Work, side_by_side

_GATHER_SECONDS = 0.5
_ALL_SECONDS = 300.0
"""How often all sessions are looked at: another process may have changed some."""
_PAUSE_SECONDS = 0.02
"""Pause between two slices, for other users of the store."""


class LogIndexing(SqlStore):
    """One per store. `redact` replaces known secrets, which must not be searchable."""

    _behind = verb(log_words.behind)
    last_sent = verb(log_words.last_sent)
    _sent = verb(log_words.sent)
    _unindexed = verb(log_words.unindexed)
    _keep = verb(log_words.keep, "index")

    def __init__(
        self, database: Database, writer: StoreContext, redact: Callable[[str], str]
    ) -> None:
        super().__init__(database, writer)
        self._redact = redact
        self._spoken: set[str] = set()
        self._news = asyncio.Event()

    async def run(self, bus: Bus) -> None:
        """Until cancelled: index existing entries, then new ones."""
        works: dict[str, Work] = {
            "indexing: conversations that said something": partial(self._watch, bus),
            "indexing: all conversations": partial(self._look_often, bus),
            "indexing: new messages": self._index_spoken,
        }
        await side_by_side(works, self.writer.clock)

    async def _index_spoken(self) -> None:
        while True:
            await self._news.wait()
            await self.writer.clock.sleep(_GATHER_SECONDS)
            self._news.clear()
            spoken, self._spoken = self._spoken, set()
            for key in spoken:
                with boundary(f"indexing {key}"):
                    await self.index_session(key)

    async def index(self) -> None:
        """Index everything that is not indexed yet. Raises StoreError."""
        async for key in self._all_behind():
            await self.index_session(key)

    async def index_session(self, key: str) -> None:
        """Index the unindexed entries of a session. Raises StoreError."""
        while (part := await self._unindexed(key)) is not None:
            entries = await asyncio.to_thread(self._indexed, part)
            if not await self._keep(part, entries):
                return
            if len(part.entries) < log_words.ENTRIES_AT_ONCE:
                return
            await self.writer.clock.sleep(_PAUSE_SECONDS)

    async def _watch(self, bus: Bus) -> None:
        def ended(event: RunEvent) -> None:
            self._spoken.add(event.session_key)
            self._news.set()

        watching = Handler(frozenset({EventKind.END}), ended)
        bus.watch(watching)
        try:
            await asyncio.Event().wait()
        finally:
            bus.unsubscribe(watching)

    async def _look_often(self, bus: Bus) -> None:
        looks = Looks(self.writer.clock, often=30.0, lasting=60.0)
        looked_at, last = -_ALL_SECONDS, 0
        with stirred(looks, bus, EventKind.END):
            while True:
                with boundary("looking for conversations to index"):
                    now = self.writer.clock.monotonic()
                    if now - looked_at < _ALL_SECONDS:
                        last = await self.index_sent(last)
                    else:
                        last = await self.last_sent()
                        await self._index_each(self._all_behind())
                        looked_at = now
                await looks.due()

    async def _index_each(self, sessions: AsyncIterator[str]) -> None:
        async for key in sessions:
            with boundary(f"indexing {key}"):
                await self.index_session(key)

    async def index_sent(self, last: int) -> int:
        """Index the sessions of all messages for chats after that one; returns the last. Raises
        StoreError."""
        while True:
            keys, then = await self._sent(last)
            for key in keys:
                with boundary(f"indexing {key}"):
                    await self.index_session(key)
            if then == last:
                return last
            last = then

    async def _all_behind(self) -> AsyncIterator[str]:
        after: str | None = ""
        while after is not None:
            keys, after = await self._behind(after)
            for key in keys:
                yield key

    def _indexed(self, part: Unindexed) -> list[IndexedEntry]:
        indexed = []
        for seq, at, payload in part.entries:
            try:
                text = "" if payload is None else said_in(payload)
            except StoreCorrupt:  # `sessions audit` reports it; the others can be found
                text = ""
            if rows := rows_of(self._redact(text)):
                indexed.append(IndexedEntry(seq, at, tuple(rows)))
        return indexed


def said_in(payload: bytes) -> str:
    """The text of an entry that a person reads or wrote. Raises StoreCorrupt."""
    body = log_entries.decode(payload)
    if isinstance(body, TriageEntry):
        return body.reply
    return body.text if isinstance(body, UserEntry | ReplyEntry | PostEntry | SummaryEntry) else ""
