"""One way into the database: a unit of work is one function, run in one hop, in one transaction.

SQLite has one writer thread; what waits there together is committed together (each unit in its
own savepoint), so a burst shares one fsync. PostgreSQL has a small pool of threads.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Protocol, TypeAlias, TypeVar

import msgspec
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from nanobot.errors import ConfigError, NanobotError, StoreCorrupt, StoreError, StoreUnwritable

T = TypeVar("T")
Work: TypeAlias = Callable[[sa.Connection], T]

_BATCH = 64


class CrashPoint(msgspec.Struct, frozen=True):
    """A test aid: kill this process (SIGKILL) at the nth time it reaches a verb of the Journal."""

    verb: str
    nth: int
    after: bool

    @classmethod
    def parse(cls, text: str) -> CrashPoint | None:
        """From `verb[:n][:before|after]`; empty means none."""
        if not text:
            return None
        verb, *rest = text.split(":")
        after = "after" in rest
        counts = [part for part in rest if part.isdigit()]
        if any(not part.isdigit() and part not in ("before", "after") for part in rest):
            raise ConfigError(f"NANOBOT_CRASH_AT={text!r} is not verb[:n][:before|after]")
        return cls(verb, int(counts[0]) if counts else 1, after)


class Crasher:
    """Counts the verbs and obeys the crash point."""

    def __init__(self, point: CrashPoint | None = None) -> None:
        self._point = point
        self._seen = 0

    def before(self, verb: str) -> None:
        """Called before a verb's transaction begins."""
        self._reach(verb, after=False)

    def after(self, verb: str) -> None:
        """Called once a verb is committed, before anybody has been told."""
        self._reach(verb, after=True)

    def _reach(self, verb: str, *, after: bool) -> None:
        # Each side counts for itself: of verbs committed together, all come before the first after.
        point = self._point
        if point is not None and verb == point.verb and after == point.after:
            self._seen += 1
            if self._seen == point.nth:
                os.kill(os.getpid(), signal.SIGKILL)


class Database(Protocol):
    """The executor of units of work."""

    dialect: str

    async def transact(self, work: Work[T], verb: str = "") -> T:
        """Run `work` in one transaction and return what it returned, after the commit.

        If it raises, nothing of it is kept. Errors of the database come as StoreError.
        """
        ...

    async def close(self) -> None:
        """Finish what was handed in, then let go."""
        ...


def as_store_error(error: DBAPIError) -> StoreError:
    """The kind of trouble behind a driver's exception, in words a person can act on."""
    text = str(error.orig)
    if "full" in text:
        return StoreUnwritable(f"the disk is full ({text}): free some space; nothing was lost")
    if "readonly" in text or "unable to open" in text or "disk I/O" in text:
        return StoreUnwritable(
            f"the database cannot be written ({text}): check the folder's permissions"
        )
    if "malformed" in text or "not a database" in text:
        return StoreCorrupt(f"the database is damaged ({text}): restore a backup (*.bak beside it)")
    return StoreError(f"the database failed: {text}")


class _Unit:
    """One unit of work on its way through the writer thread."""

    __slots__ = ("error", "future", "loop", "result", "verb", "work")

    def __init__(self, work: Work[Any], verb: str) -> None:
        self.work = work
        self.verb = verb
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()
        self.result: Any = None
        self.error: BaseException | None = None

    def settle(self) -> None:
        """Tell the caller; runs on its loop."""
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)


class SqliteDatabase:
    """SQLite in WAL mode with synchronous=FULL: a commit survives a power cut.

    `path` None is a private store in memory.
    """

    dialect = "sqlite"

    def __init__(self, path: Path | None, crasher: Crasher | None = None) -> None:
        url = "sqlite://" if path is None else f"sqlite:///{path}"
        self._engine = sa.create_engine(
            url,
            isolation_level="AUTOCOMMIT",
            poolclass=sa.pool.StaticPool,
            connect_args={"check_same_thread": False},
        )
        self._crasher = crasher or Crasher()
        self._inbox: SimpleQueue[_Unit | None] = SimpleQueue()
        self._connection = self._open()
        self._driver = self._raw()
        self._thread = threading.Thread(target=self._serve, name="store", daemon=True)
        self._thread.start()

    def _open(self) -> sa.Connection:
        try:
            connection = self._engine.connect()
            for pragma in (
                "page_size=1024",
                "journal_mode=WAL",
                "synchronous=FULL",
                "wal_autocheckpoint=4000",
                "cache_size=-8000",
                "busy_timeout=5000",
                "temp_store=MEMORY",
            ):
                connection.exec_driver_sql(f"PRAGMA {pragma}").close()
        except DBAPIError as error:
            raise as_store_error(error) from error
        return connection

    async def transact(self, work: Work[T], verb: str = "") -> T:
        """Run `work` on the writer thread; see Database."""
        unit = _Unit(work, verb)
        self._inbox.put(unit)
        result: T = await unit.future
        return result

    def run_now(self, work: Work[T]) -> T:
        """Run `work` in a transaction on the calling thread; only before the first `transact`."""
        self._command("BEGIN IMMEDIATE")
        try:
            result = work(self._connection)
        except BaseException:
            self._command("ROLLBACK")
            raise
        self._command("COMMIT")
        return result

    async def close(self) -> None:
        """Commit what was handed in, end the thread, fold the WAL into the file."""
        self._inbox.put(None)
        await asyncio.to_thread(self._thread.join)
        self._connection.close()
        self._engine.dispose()

    def _command(self, sql: str) -> None:
        # Straight to the driver: these frame every unit, and SQLAlchemy's path costs 40 us each.
        try:
            self._driver.execute(sql)
        except sqlite3.Error as error:
            raise DBAPIError(sql, None, error) from error

    def _serve(self) -> None:
        closing = False
        while not closing:
            batch: list[_Unit] = []
            unit = self._inbox.get()
            while unit is not None:
                batch.append(unit)
                if len(batch) == _BATCH or self._inbox.empty():
                    break
                unit = self._inbox.get()
            closing = unit is None
            if batch:
                self._commit(batch)
                self._deliver(batch)

    def _commit(self, batch: list[_Unit]) -> None:
        """All units of the batch in one transaction, each able to fail alone."""
        for unit in batch:
            self._crasher.before(unit.verb)
        try:
            self._command("BEGIN IMMEDIATE")
            for unit in batch:
                self._perform(unit, alone=len(batch) == 1)
            self._command("COMMIT")
        except DBAPIError as error:
            self._undo()
            for unit in batch:
                unit.error = unit.error or as_store_error(error)
        for unit in batch:
            self._crasher.after(unit.verb)

    def _perform(self, unit: _Unit, *, alone: bool) -> None:
        if not alone:
            self._command("SAVEPOINT unit")
        try:
            unit.result = unit.work(self._connection)
        except DBAPIError as error:
            unit.error = as_store_error(error)
        except NanobotError as error:
            unit.error = error
        except BaseException as error:  # noqa: BLE001 - handed to the caller, never swallowed
            unit.error = error
        if unit.error is not None and self._in_transaction():
            self._command("ROLLBACK TO unit" if not alone else "ROLLBACK")
            if alone:
                self._command("BEGIN IMMEDIATE")
        if not alone and self._in_transaction():
            self._command("RELEASE unit")

    def _raw(self) -> sqlite3.Connection:
        driver = self._connection.connection.driver_connection
        if not isinstance(driver, sqlite3.Connection):
            raise TypeError("not a SQLite connection")
        return driver

    def _in_transaction(self) -> bool:
        return self._driver.in_transaction

    def _undo(self) -> None:
        if self._in_transaction():
            self._command("ROLLBACK")

    @staticmethod
    def _deliver(batch: list[_Unit]) -> None:
        by_loop: dict[asyncio.AbstractEventLoop, list[_Unit]] = {}
        for unit in batch:
            by_loop.setdefault(unit.loop, []).append(unit)
        for loop, units in by_loop.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(_settle_all, units)


def _settle_all(units: list[_Unit]) -> None:
    for unit in units:
        unit.settle()


class PostgresDatabase:
    """PostgreSQL over psycopg: a pool of connections, one thread for each."""

    dialect = "postgresql"

    def __init__(self, url: str, crasher: Crasher | None = None, workers: int = 8) -> None:
        address = sa.make_url(url).set(drivername="postgresql+psycopg")
        self._engine = sa.create_engine(address, pool_size=workers, pool_pre_ping=True)
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="store")
        self._crasher = crasher or Crasher()

    async def transact(self, work: Work[T], verb: str = "") -> T:
        """Run `work` on a pooled connection; see Database."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._perform, work, verb)

    def run_now(self, work: Work[T]) -> T:
        """Run `work` in a transaction on the calling thread."""
        return self._perform(work, "")

    def _perform(self, work: Work[T], verb: str) -> T:
        self._crasher.before(verb)
        try:
            with self._engine.begin() as connection:
                result = work(connection)
        except DBAPIError as error:
            raise as_store_error(error) from error
        self._crasher.after(verb)
        return result

    async def close(self) -> None:
        """Finish what runs, then close the pool."""
        await asyncio.to_thread(self._threads.shutdown)
        self._engine.dispose()
