"""A store under test: writers over one database, and what is really in its tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import pytest
import sqlalchemy as sa

from nanobot.plugins.budgets.limits import Budgets
from nanobot.plugins.budgets.settings import UNLIMITED
from nanobot.plugins.budgets.store.usage import SqlUsageStore
from nanobot.plugins.common.store import chain
from nanobot.plugins.common.store.hooks import store_hooks
from nanobot.plugins.conversations.store import SqlConversationList
from nanobot.plugins.cron.jobs import following
from nanobot.plugins.erasure.store.eraser import SqlEraser
from nanobot.plugins.jobs.store.jobs import SqlJobs
from nanobot.plugins.memory.store.memories import SqlMemoryStore
from nanobot.plugins.pairing.store.pairings import SqlPairingStore
from nanobot.plugins.postgres.store.chat_claims import SqlChatClaims
from nanobot.plugins.postgres.store.leases import SqlLeases
from nanobot.plugins.postgres.store.postgres import PostgresDatabase
from nanobot.plugins.proof.store.chains import Chains
from nanobot.plugins.search.store.indexing import LogIndexing
from nanobot.plugins.search.store.log_search import LogSearch
from nanobot.session.entries import Body, Entry
from nanobot.store.database import schema
from nanobot.store.database.database import Database, Work
from nanobot.store.database.sqlite import SqliteDatabase
from nanobot.store.held_lanes import HeldLanes
from nanobot.store.journal import log
from nanobot.store.journal.journal import SqlJournal
from nanobot.store.records import SqlRecords
from nanobot.store.unit import StoreContext
from nanobot.testing.machine import CountingIds, ManualClock
from nanobot.workspace.blobs import Blobs
from tests.plugins.budgets.ledgers import ledger_of

T = TypeVar("T")

AnyDatabase: TypeAlias = SqliteDatabase | PostgresDatabase

LEASE_SECONDS = 600.0
NO_LIMITS = Budgets(UNLIMITED)
KEPT = schema.meta.c.key != "min_reader"

in_file = pytest.mark.parametrize("home", ["file"], indirect=True)
in_memory = pytest.mark.parametrize("home", ["memory"], indirect=True)
on_sqlite = pytest.mark.parametrize("home", ["file", "memory"], indirect=True)
on_postgres = pytest.mark.parametrize("home", ["postgres"], indirect=True)


def leases_of(journal: SqlJournal) -> SqlLeases:
    """Those of the same process."""
    return SqlLeases(journal.database, journal.writer)


class Home:
    """One database. `shared`: its lanes are held by leases. `durable`: it can be opened again."""

    def __init__(
        self, opened: Callable[[], AnyDatabase], *, shared: bool, durable: bool = True
    ) -> None:
        self.shared = shared
        self.durable = durable
        self.clock = ManualClock()
        self.ids = CountingIds()
        self.damaged: frozenset[str] = frozenset()
        self._held: dict[str, HeldLanes] = {}
        self._opened = opened
        self.database = opened()
        self.reader = StoreContext(self.clock, self.ids, "reader")

    def journal(
        self,
        owner: str = "us",
        lease: float = LEASE_SECONDS,
        budgets: Budgets = NO_LIMITS,
        database: Database | None = None,
    ) -> SqlJournal:
        """What a process named `owner` works with."""
        hooks = store_hooks(ledger_of(budgets))
        writer = StoreContext(self.clock, self.ids, owner, lease if self.shared else None, hooks)
        writer.held = self._held.setdefault(owner, writer.held)
        if self.shared:
            writer.chats = SqlChatClaims(owner)
        return SqlJournal(database or self.database, writer)

    def spending(self) -> SqlUsageStore:
        """What was spent."""
        return SqlUsageStore(self.database, self.reader)

    def records(self) -> SqlRecords:
        """What people read and change with."""
        writer = StoreContext(self.clock, self.ids, "reader", hooks=store_hooks())
        return SqlRecords(self.database, writer)

    def chains(self) -> Chains:
        """What proves that no one changed a log."""
        return Chains(self.database, self.reader)

    def search(self, redact: Callable[[str], str] = str) -> LogSearch:
        """What people find messages with."""
        return LogSearch(self.database, self.reader, redact)

    def conversations(self) -> SqlConversationList:
        """What people find conversations with."""
        return SqlConversationList(self.database, self.reader)

    def jobs(self, owner: str = "us") -> SqlJobs:
        """Scheduled jobs."""
        jobs = SqlJobs(self.database, StoreContext(self.clock, self.ids, owner))
        jobs.following = following
        return jobs

    def pairings(self) -> SqlPairingStore:
        """Who asked to be let in, and who was."""
        return SqlPairingStore(self.database, StoreContext(self.clock, self.ids, "doorkeeper"))

    def memories(self) -> SqlMemoryStore:
        """What is remembered."""
        writer = StoreContext(self.clock, self.ids, "archivist")
        return SqlMemoryStore(self.database, writer, SqlEraser(self.database, writer))

    def eraser(self, blobs: Blobs | None = None, database: Database | None = None) -> SqlEraser:
        """What removes for good."""
        writer = StoreContext(self.clock, self.ids, "us")
        return SqlEraser(database or self.database, writer, blobs)

    def indexing(self, redact: Callable[[str], str] = str) -> LogIndexing:
        """What indexes what was said."""
        return LogIndexing(self.database, StoreContext(self.clock, self.ids, "indexer"), redact)

    def doomed(self, budgets: Budgets = NO_LIMITS) -> SqlJournal:
        """A process whose lanes others may take at once, as if it had been killed."""
        return self.journal(f"doomed-{self.ids.run_id()}", lease=-1.0, budgets=budgets)

    async def reopen(self) -> None:
        """End the process (where the store outlives it) and start the next."""
        if self.durable:
            await self.database.close()
            self.database = self._opened()

    async def do(self, work: Work[T]) -> T:
        """Look, or reach, behind the port."""
        return await self.database.transact(work)

    async def execute(self, statement: str, **values: object) -> int:
        """Change rows behind the store's back; returns how many."""
        return await self.do(lambda c: c.execute(sa.text(statement), values).rowcount)

    async def rows(self, query: str, **values: object) -> list[tuple[Any, ...]]:
        """Rows as they are."""
        return await self.do(lambda c: [tuple(row) for row in c.execute(sa.text(query), values)])

    async def column(self, query: str, **values: object) -> list[Any]:
        """The only column of some rows."""
        return [value for (value,) in await self.rows(query, **values)]

    async def everything(self) -> dict[str, list[tuple[Any, ...]]]:
        """Every row of every table."""

        def dump(connection: sa.Connection) -> dict[str, list[tuple[Any, ...]]]:
            return {
                table.name: sorted(
                    (tuple(row) for row in connection.execute(table.select())), key=repr
                )
                for table in schema.metadata().sorted_tables
            }

        return await self.do(dump)

    async def entries(self, session_key: str) -> list[Entry]:
        """A session's whole log."""
        return list(await self.do(lambda c: log.read(c, session_key, 0)))

    async def bodies(self, session_key: str) -> list[Body | None]:
        """What a session's log says."""
        return [entry.body for entry in await self.entries(session_key)]

    async def verify(self, session_key: str, head: bytes | None = None) -> int:
        """Walk a session's chain."""
        return await self.do(lambda c: chain.verify(c, session_key, head))

    async def check(self) -> None:
        """Every chain holds, but those a test has broken."""
        for key in await self.column("SELECT key FROM sessions"):
            if key not in self.damaged:
                await self.verify(key)

    async def clear(self) -> None:
        """Nothing was ever kept, and it is the first day again."""

        def delete(connection: sa.Connection) -> None:
            for table in schema.metadata().sorted_tables:
                connection.execute(
                    table.delete().where(KEPT) if table is schema.meta else table.delete()
                )

        await self.do(delete)
        self.damaged = frozenset()
        self._held = {}
        self.clock = ManualClock()
        self.ids = CountingIds()
