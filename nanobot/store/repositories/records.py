"""The Records over SQL: what people and programs read of the store, and the little they change."""

from __future__ import annotations

import asyncio

import sqlalchemy as sa

from nanobot.errors import StoreCorrupt, UsageError
from nanobot.messages import Address
from nanobot.session.views import AuditView
from nanobot.store.database import schema
from nanobot.store.database.sqlite import Database
from nanobot.store.journal import runs as journal_runs
from nanobot.store.repositories import approvals as approval_rows
from nanobot.store.repositories import blob_references as references
from nanobot.store.repositories import erasing, erasures, session_removal, views
from nanobot.store.repositories import outbox as outbox_rows
from nanobot.store.unit import StoreContext
from nanobot.store.verbs import SqlStore, bare_verb, verb
from nanobot.workspace.blobs import Blobs

_s = schema.sessions

_ALL = 1_000_000_000


class SqlRecords(SqlStore):
    """See records.Records: the same code for SQLite and PostgreSQL. `blobs` are the files that its
    rows name."""

    counts = bare_verb(views.counts)
    sessions = bare_verb(views.sessions)
    session = bare_verb(views.one_session)
    entries = bare_verb(views.entries)
    mark_read = verb(outbox_rows.mark_read, "mark_read")
    runs = bare_verb(views.run_list)
    run = bare_verb(views.one_run)
    run_entries = bare_verb(views.run_entries)
    cancel = verb(journal_runs.cancel, "cancel")
    outbox = bare_verb(views.outbox_list)
    owed = bare_verb(views.one_outbox)
    retry = verb(outbox_rows.retry, "retry")
    drop = verb(outbox_rows.drop, "drop")
    tool_calls = bare_verb(views.tool_calls)
    approvals = bare_verb(approval_rows.listing)
    approval = bare_verb(approval_rows.one)
    rules = bare_verb(approval_rows.rules)
    forget_rule = bare_verb(approval_rows.forget, "forget_rule")

    _chain = bare_verb(views.chain)
    _contains = bare_verb(views.contains)
    _erase = verb(erasing.erase, "erase")
    _begin_removal = verb(session_removal.begin_session, "delete")
    _remove_slice = bare_verb(session_removal.session_slice, "delete")
    _end_removal = verb(session_removal.end_session, "delete")
    _noted = bare_verb(erasures.noted)
    _scrubbed = bare_verb(erasures.done, "scrubbed")
    _blobs_removed = bare_verb(erasures.done, "blobs_removed")
    _erase_quotes = verb(erasing.erase_quotes)
    _search = bare_verb(references.search)
    _some_chats = bare_verb(views.chats)

    def __init__(
        self, database: Database, writer: StoreContext, blobs: Blobs | None = None
    ) -> None:
        super().__init__(database, writer)
        self._blobs = blobs
        self._erasing = asyncio.Lock()

    async def delete(self, key: str) -> int:
        """Remove a session for good; nothing of it stays in the database's files, nor do files
        that came or went with it alone. What lies in the workspace stays."""
        with self.writer.held.taking() as hold:
            count = await self._begin_removal(hold, key)
            try:
                await self.finish_erasures()
            finally:
                hold.release()
        return count

    async def finish_erasures(self) -> None:
        """Remove what was to be removed before a crash too. One at a time, in slices."""
        async with self._erasing:
            for key in await self._noted(erasures.SESSION):
                await self._remove_session(key)
            while quotes := await self._noted(erasures.QUOTES):
                await self._erase_quotes(quotes)
            await self._remove_blobs()
            scrubs = await self._noted(erasures.SCRUB)
            if scrubs:
                await self.database.scrub()
                await self._scrubbed(erasures.SCRUB, scrubs)

    async def _remove_session(self, key: str) -> None:
        place: session_removal.Place | None = session_removal.Place()
        while place is not None:
            place = await self._remove_slice(key, place)
        await self._end_removal(key)

    async def _remove_blobs(self) -> None:
        digests = await self._noted(erasures.BLOB)
        place, held = (references.Place() if digests else None), set[str]()
        while place is not None:
            found, place = await self._search(place)
            held |= found
        if self._blobs is not None:
            await self._blobs.remove(sorted(set(digests) - held))
        if digests:
            await self._blobs_removed(erasures.BLOB, digests)

    async def forget_prompts(self) -> int:
        """Every session gets a new prompt at its next run."""
        forget = (
            sa.update(_s).where(_s.c.prompt.is_not(None)).values(prompt=None, prompt_variant=None)
        )
        return await self.database.transact(lambda c: c.execute(forget).rowcount, "forget_prompts")

    async def chats(self, channel: str) -> list[Address]:
        """Where a channel's runs were asked for."""
        places: dict[Address, None] = {}
        before: str | None = ""
        while before is not None and len(places) < views.MOST_CHATS:
            some, before = await self._some_chats(channel, before)
            places |= dict.fromkeys(some)
        return list(places)[: views.MOST_CHATS]

    async def erase(self, session_key: str, seq: int, by: str) -> None:
        """Remove an entry's payload for good; see erasing.erase. Backups made before keep it."""
        await self._erase(session_key, seq, by)
        await self.finish_erasures()

    async def audit(self, session: str, head: str) -> list[AuditView]:
        """Walk the chains, a session at a time: others may write in between."""
        keys = [session]
        if not session:
            keys = [one.key for one in await self.sessions(limit=_ALL, unread=False)]
        elif await self.session(session) is None:
            raise UsageError(f"there is no session {session}")
        walked = [await self._chain(key) for key in keys]
        if head:
            wanted = _bytes(head)
            held = [await self._contains(key, wanted) for key in keys]
            if not any(held):
                raise StoreCorrupt(f"no log contains the head {head}: the tail of one was cut")
        return walked


def _bytes(head: str) -> bytes:
    try:
        return bytes.fromhex(head)
    except ValueError:
        raise UsageError(f"{head[:80]!r} is not a head: 64 hexadecimal digits are") from None
