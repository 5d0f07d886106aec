"""The Records over SQL: what people and programs read of the store, and the little they change."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import sqlalchemy as sa

from nanobot.errors import StoreCorrupt, UsageError
from nanobot.messages import Address
from nanobot.session.approvals import Approval, RuleView
from nanobot.session.runs import Ending, Run
from nanobot.session.views import (
    AuditView,
    Counts,
    EntryView,
    OutboxView,
    RunView,
    SessionView,
    ToolCallView,
)
from nanobot.store.database import schema
from nanobot.store.database.sqlite import Database
from nanobot.store.journal import runs
from nanobot.store.repositories import (
    approvals as approving,
)
from nanobot.store.repositories import (
    blob_references as references,
)
from nanobot.store.repositories import (
    erasing,
    erasures,
    outbox,
    session_removal,
)
from nanobot.store.repositories import (
    views as reads,
)
from nanobot.store.unit import StoreContext
from nanobot.workspace.blobs import Blobs

T = TypeVar("T")

_s = schema.sessions
_e = schema.entries
_r = schema.runs
_i = schema.inbound
_o = schema.outbound
_p = schema.outbound_parts
_t = schema.occurrences

_ALL = 1_000_000_000


class SqlRecords:
    """See records.Records: the same code for SQLite and PostgreSQL. `blobs` are the files that its
    rows name."""

    def __init__(
        self, database: Database, writer: StoreContext, blobs: Blobs | None = None
    ) -> None:
        self._database = database
        self._writer = writer
        self._blobs = blobs
        self._erasing = asyncio.Lock()

    async def _do(self, work: Callable[[sa.Connection], T], verb: str = "") -> T:
        return await self._database.transact(work, verb)

    async def counts(self) -> Counts:
        """How much there is."""
        return await self._do(reads.counts)

    async def sessions(self, *, limit: int, unread: bool) -> list[SessionView]:
        """The sessions that changed last."""
        return await self._do(lambda c: reads.sessions(c, limit=limit, unread=unread))

    async def session(self, key: str) -> SessionView | None:
        """One session."""
        return await self._do(lambda c: reads.one_session(c, key))

    async def entries(self, key: str, *, after: int, limit: int) -> tuple[EntryView, ...]:
        """Entries of a session's log."""
        return await self._do(lambda c: reads.entries(c, key, after=after, limit=limit))

    async def mark_read(self, key: str) -> bool:
        """Everything in the session so far was seen, and need not wait for a terminal."""
        seen = sa.update(_s).where(_s.c.key == key).values(last_read_at=_s.c.updated_at)

        def work(connection: sa.Connection) -> bool:
            for number in outbox.unshown(connection, key):
                outbox.drop(connection, self._writer, number)
            return connection.execute(seen).rowcount == 1

        return await self._do(work, "mark_read")

    async def delete(self, key: str) -> int:
        """Remove a session for good; nothing of it stays in the database's files, nor do files
        that came or went with it alone. What lies in the workspace stays."""
        with self._writer.held.taking() as hold:
            count = await self._do(
                lambda c: session_removal.begin_session(c, self._writer, hold, key), "delete"
            )
            try:
                await self.finish_erasures()
            finally:
                hold.release()
        return count

    async def finish_erasures(self) -> None:
        """Remove what was to be removed before a crash too. One at a time, in slices."""
        async with self._erasing:
            for key in await self._do(lambda c: erasures.noted(c, erasures.SESSION)):
                await self._remove_session(key)
            while quotes := await self._do(lambda c: erasures.noted(c, erasures.QUOTES)):
                await self._do(partial(erasing.erase_quotes, writer=self._writer, names=quotes))
            await self._remove_blobs()
            scrubs = await self._do(lambda c: erasures.noted(c, erasures.SCRUB))
            if scrubs:
                await self._database.scrub()
                await self._do(lambda c: erasures.done(c, erasures.SCRUB, scrubs), "scrubbed")

    async def _remove_session(self, key: str) -> None:
        place: session_removal.Place | None = session_removal.Place()
        while place is not None:
            place = await self._do(
                partial(session_removal.session_slice, key=key, place=place), "delete"
            )
        await self._do(lambda c: session_removal.end_session(c, self._writer, key), "delete")

    async def _remove_blobs(self) -> None:
        digests = await self._do(lambda c: erasures.noted(c, erasures.BLOB))
        place, held = (references.Place() if digests else None), set[str]()
        while place is not None:
            found, place = await self._do(partial(references.search, place=place))
            held |= found
        if self._blobs is not None:
            await self._blobs.remove(sorted(set(digests) - held))
        if digests:
            await self._do(lambda c: erasures.done(c, erasures.BLOB, digests), "blobs_removed")

    async def forget_prompts(self) -> int:
        """Every session gets a new prompt at its next run."""
        forget = (
            sa.update(_s).where(_s.c.prompt.is_not(None)).values(prompt=None, prompt_variant=None)
        )
        return await self._do(lambda c: c.execute(forget).rowcount, "forget_prompts")

    async def chats(self, channel: str) -> list[Address]:
        """Where a channel's runs were asked for."""
        places: dict[Address, None] = {}
        before: str | None = ""
        while before is not None and len(places) < reads.MOST_CHATS:
            some, before = await self._do(partial(reads.chats, channel=channel, before=before))
            places |= dict.fromkeys(some)
        return list(places)[: reads.MOST_CHATS]

    async def erase(self, session_key: str, seq: int, by: str) -> None:
        """Remove an entry's payload for good; see erasing.erase. Backups made before keep it."""
        await self._do(lambda c: erasing.erase(c, self._writer, session_key, seq, by), "erase")
        await self.finish_erasures()

    async def runs(self, *, session: str, state: str, limit: int, kind: str = "") -> list[RunView]:
        """Runs, the newest first."""
        return await self._do(
            lambda c: reads.run_list(c, session_key=session, state=state, limit=limit, kind=kind)
        )

    async def run(self, run_id: str) -> RunView | None:
        """One run."""
        return await self._do(lambda c: reads.one_run(c, run_id))

    async def run_entries(self, run_id: str) -> tuple[EntryView, ...]:
        """The entries of one run."""
        return await self._do(lambda c: reads.run_entries(c, run_id))

    async def cancel(self, run_id: str, ending: Ending, by: str) -> Run | None:
        """End a live run."""
        return await self._do(lambda c: runs.cancel(c, self._writer, run_id, ending, by), "cancel")

    async def outbox(self, *, state: str, limit: int) -> list[OutboxView]:
        """Messages owed, the newest first."""
        return await self._do(lambda c: reads.outbox_list(c, state=state, limit=limit))

    async def owed(self, number: int) -> OutboxView | None:
        """One message."""
        return await self._do(lambda c: reads.one_outbox(c, number))

    async def retry(self, number: int) -> Address | None:
        """A dead message becomes unsent again."""

        def work(connection: sa.Connection) -> Address | None:
            if not outbox.retry(connection, self._writer, number):
                return None
            (row,) = outbox.listing(connection, None, 1, number)
            return row.message.address

        return await self._do(work, "retry")

    async def drop(self, number: int) -> bool:
        """Give a message up."""
        return await self._do(lambda c: outbox.drop(c, self._writer, number), "drop")

    async def tool_calls(self, *, session: str, name: str, limit: int) -> list[ToolCallView]:
        """Tool calls, the newest first."""
        return await self._do(
            lambda c: reads.tool_calls(c, session_key=session, name=name, limit=limit)
        )

    async def approvals(self, *, session: str, state: str, limit: int) -> list[Approval]:
        """What people were asked."""
        return await self._do(lambda c: approving.listing(c, session, state, limit))

    async def approval(self, number: int) -> Approval | None:
        """One of them."""
        return await self._do(lambda c: approving.one(c, number))

    async def rules(self) -> list[RuleView]:
        """What was allowed for good."""
        return await self._do(approving.rules)

    async def forget_rule(self, number: int) -> bool:
        """Take such a permission back."""
        return await self._do(lambda c: approving.forget(c, number), "forget_rule")

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

    async def _chain(self, key: str) -> AuditView:
        return await self._do(lambda c: reads.chain(c, key))

    async def _contains(self, key: str, head: bytes) -> bool:
        return await self._do(lambda c: reads.contains(c, key, head))


def _bytes(head: str) -> bytes:
    try:
        return bytes.fromhex(head)
    except ValueError:
        raise UsageError(f"{head[:80]!r} is not a head: 64 hexadecimal digits are") from None
