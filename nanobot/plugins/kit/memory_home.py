"""A store in memory, and processes over it that a test can end at any moment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from nanobot.errors import StoreError
from nanobot.plugins.common.jobs.service import JOB_STORE, Jobs
from nanobot.plugins.common.runs.background_runs import TASK_STORE, TaskRecords
from nanobot.plugins.common.store import chain
from nanobot.plugins.common.store.hooks import store_hooks
from nanobot.plugins.kit.machine import CountingIds, ManualClock
from nanobot.plugins.kit.message_numbers import MessageNumbers
from nanobot.ports import Clock, Ids
from nanobot.seam.installed import provided
from nanobot.session.entries import Entry
from nanobot.session.records import Records
from nanobot.store.database.database import Work
from nanobot.store.database.durability import verbs_of
from nanobot.store.journal import log
from nanobot.store.journal.journal import SqlJournal
from nanobot.store.opening import HooksOf, in_memory_database
from nanobot.store.records import SqlRecords
from nanobot.store.unit import StoreContext

T = TypeVar("T")


class MemoryHome:
    """A store in memory that outlives its processes. `close` it, or use `async with`."""

    def __init__(self, clock: Clock | None = None, ids: Ids | None = None) -> None:
        self.clock = clock or ManualClock()
        self.ids = ids or CountingIds()
        self._sqlite = in_memory_database()
        self._closed = False
        self._numbers: dict[str, MessageNumbers] = {}

    def numbers(self, channel: str) -> MessageNumbers:
        """The numbers of the messages on a channel's platform, which outlives processes, too."""
        return self._numbers.setdefault(channel, MessageNumbers())

    def do(self, work: Work[T]) -> T:
        """Run one unit of work now, in one transaction. Raises StoreError if the home is closed."""
        if self._closed:
            raise StoreError("the store is closed")
        return self._sqlite.run_now(work)

    def entries(self, session_key: str) -> list[Entry]:
        return list(self.do(lambda connection: log.read(connection, session_key, 0)))

    def verify(self, session_key: str) -> int:
        """The length of a session's log; raises StoreCorrupt if its chain does not hold."""
        return self.do(lambda connection: chain.verify(connection, session_key))

    async def close(self) -> None:
        # The writer's thread closes the connection: nothing may use it here meanwhile, which would
        # end the process.
        self._closed = True
        await self._sqlite.close()

    async def __aenter__(self) -> MemoryHome:
        return self

    async def __aexit__(self, *failure: object) -> None:
        await self.close()


def _nothing(verb: str) -> None:
    pass


def _jobs(database: Process, writer: StoreContext) -> Jobs:
    make = provided(JOB_STORE)
    if make is None:
        raise StoreError("no plugin does jobs")
    return make(database, writer)


def _tasks(database: Process, writer: StoreContext) -> TaskRecords:
    make = provided(TASK_STORE)
    if make is None:
        raise StoreError("no plugin does background runs")
    return make(database, writer)


class Process:
    """A process over a home, as a Database that executes units inline: every run is the same.

    `before` and `after` are called with every verb's name ("" for reads) before and after its
    commit, and may raise. `verbs` lists the committed transactions (`first+second`: of two verbs).
    After it is `dead`, it reads and writes nothing.
    """

    dialect = "sqlite"

    def __init__(self, home: MemoryHome, hooks: HooksOf | None = None) -> None:
        self.before: Callable[[str], None] = _nothing
        self.after: Callable[[str], None] = _nothing
        self.verbs: list[str] = []
        self.dead = False
        self._home = home
        writer = StoreContext(home.clock, home.ids, home.ids.run_id(), hooks=hooks or store_hooks())
        self.journal = SqlJournal(self, writer)
        self.records: Records = SqlRecords(self, writer)
        self.writer = writer
        self.tasks = _tasks(self, writer)
        self.jobs = _jobs(self, writer)

    async def transact(self, work: Work[T], verb: str = "") -> T:
        """Run `work`; see Database."""
        await asyncio.sleep(0)
        self._live()
        for name in verbs_of(verb):
            self.before(name)
        self._live()
        result = self._home.do(work)
        self.verbs.append(verb)
        for name in verbs_of(verb):
            self.after(name)
        self._live()
        await asyncio.sleep(0)
        return result

    def _live(self) -> None:
        if self.dead:
            raise StoreError("this process is dead")

    async def close(self) -> None:
        """The home stays open."""
