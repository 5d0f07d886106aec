"""SQLite as a Database. It has one writer thread, which commits all queued units together (each
in its own savepoint), so a burst shares one fsync.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from nanobot.errors import StoreUnwritable
from nanobot.store.database.database import Work, ignored
from nanobot.store.database.durability import waits
from nanobot.store.database.errors import as_store_error
from nanobot.store.database.failpoints import Failpoints
from nanobot.store.database.lock import HomeLock
from nanobot.store.database.place import Place
from nanobot.store.database.strict_types import COMPILED, STRICT

T = TypeVar("T")

PAGE_SIZE = 512
"""Of new files. A turn changes little in each of 60 pages, so small ones halve what it writes."""
_WAL_PAGES = 16_000
"""About 9 MB; then they are copied into the file, each once however often it was written."""
_BUSY_MS = 5_000
_BATCH = 64
_FULL, _NORMAL = "FULL", "NORMAL"


class _Unit:
    """A unit of work on its way through the writer thread."""

    __slots__ = ("error", "future", "loop", "result", "verb", "work")

    def __init__(self, work: Work[Any], verb: str) -> None:
        self.work = work
        self.verb = verb
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()
        self.result: Any = None
        self.error: BaseException | None = None

    def settle(self) -> None:
        """Deliver the result to the caller; runs on the caller's loop."""
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)


class SqliteDatabase:
    """SQLite in WAL mode. A commit survives a killed process, and also a power failure if its verb
    waits for the disk (see durability).

    `path` None is a private store in memory. `lock` is kept while the store is in use.
    """

    dialect = "sqlite"

    def __init__(
        self,
        path: Path | None,
        failpoints: Failpoints | None = None,
        lock: HomeLock | None = None,
    ) -> None:
        if path is not None:
            _make_private(path)
        self._engine = sa.create_engine(
            sa.URL.create(STRICT, database=None if path is None else str(path)),
            isolation_level="AUTOCOMMIT",
            poolclass=sa.pool.StaticPool,
            connect_args={"check_same_thread": False},
            execution_options={"compiled_cache": COMPILED},
        )
        self._failpoints = failpoints or Failpoints()
        self.on_sync: Callable[[float], None] = ignored
        """Called on the writer thread with the seconds of each COMMIT that waits for the disk."""
        self._inbox: SimpleQueue[_Unit | None] = SimpleQueue()
        self._in_file = path is not None
        self._connect()
        self._place = None if path is None else Place(path, lock)
        self._thread = threading.Thread(target=self._serve, name="store", daemon=True)
        self._thread.start()

    def _connect(self) -> None:
        self._broken = True
        self._connection = self._open()
        self._synchronous = _FULL
        self._driver = self._raw()
        self._broken = False

    def _open(self) -> sa.Connection:
        try:
            connection = self._engine.connect()
            for pragma in (
                f"page_size={PAGE_SIZE}",
                "journal_mode=WAL",
                "secure_delete=ON",
                f"synchronous={_FULL}",
                f"wal_autocheckpoint={_WAL_PAGES}",
                "cache_size=-8000",
                f"busy_timeout={_BUSY_MS}",
                "temp_store=MEMORY",
            ):
                connection.exec_driver_sql(f"PRAGMA {pragma}").close()
        except DBAPIError as error:
            self._engine.dispose()
            raise as_store_error(error.orig) from error
        return connection

    async def transact(self, work: Work[T], verb: str = "") -> T:
        """Run `work` on the writer thread; see Database."""
        unit = _Unit(work, verb)
        self._inbox.put(unit)
        result: T = await unit.future
        return result

    def run_now(self, work: Work[T]) -> T:
        """Run `work` in a transaction on the calling thread; only before the first `transact`."""
        try:
            self._command("BEGIN IMMEDIATE")
            result = work(self._connection)
            self._command("COMMIT")
        except DBAPIError as error:
            raise as_store_error(error.orig) from error
        finally:
            self._undo()
        return result

    def back_up(self, target: Path) -> None:
        """Write a consistent copy to another file; only before the first `transact`."""
        unfinished = target.with_name(f".{target.name}.part")
        unfinished.unlink(missing_ok=True)
        _make_private(unfinished)
        try:
            with closing(sqlite3.connect(unfinished)) as copy:
                self._driver.backup(copy)
            unfinished.replace(target)
        except (sqlite3.Error, OSError) as error:
            unfinished.unlink(missing_ok=True)
            raise StoreUnwritable(f"no copy could be made before migrating ({error})") from error

    def copy_in_memory(self) -> sqlite3.Connection:
        """A copy in memory, for `take_over`; only before the first `transact`."""
        copy = sqlite3.connect(":memory:", check_same_thread=False)
        self._driver.backup(copy)
        return copy

    def take_over(self, content: sqlite3.Connection) -> None:
        """Replace everything with a copy of that; only before the first `transact`."""
        content.backup(self._driver)

    async def close(self) -> None:
        """Commit the queued units, end the thread, and fold the WAL into the file."""
        await asyncio.to_thread(self.shut)

    def shut(self) -> None:
        """Like `close`, for when no event loop runs."""
        self._inbox.put(None)
        self._thread.join()
        with suppress(DBAPIError):  # it may be broken; all committed data is in the file
            self._connection.close()
        self._engine.dispose()

    def _command(self, sql: str) -> None:
        # Straight to the driver: these statements frame every unit, and SQLAlchemy's path costs 40
        # us each.
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
        """Run all units of the batch in one transaction; each can fail alone.

        An error that ends the transaction itself (a full disk can) fails all of them.
        """
        for unit in batch:
            self._failpoints.before(unit.verb)
        try:
            self._find_again()
            self._set_waiting(disk=waits(unit.verb for unit in batch))
            self._command("BEGIN IMMEDIATE")
            for unit in batch:
                self._perform(unit, alone=len(batch) == 1)
            if self._driver.in_transaction:
                self._end_batch()
        except BaseException as error:  # noqa: BLE001 - handed to the callers, never swallowed
            for unit in batch:
                unit.error = unit.error or _as_raised(error)
            self._start_over()
        for unit in batch:
            if unit.error is None:
                self._failpoints.after(unit.verb)

    def _find_again(self) -> None:
        """Raises StoreError unless the open file is the one at its path. A WAL that was removed is
        written back into it."""
        if self._place is not None and (self._place.may_have_changed() or self._broken):
            self._place.check()
            if not self._broken and not self._place.has_log():
                self._rescue()
            if self._broken:
                self._place.forget_log()
            else:
                self._place.found()
        if self._broken:
            self._connect()

    def _rescue(self) -> None:
        """Write back what is in the open WAL, and close it."""
        busy, *_ = self._driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            raise StoreUnwritable("the -wal file of the database was removed: restart nanobot")
        self._close_connection()

    def _end_batch(self) -> None:
        began = time.monotonic()
        self._command("COMMIT")
        if self._synchronous == _FULL:
            self.on_sync(time.monotonic() - began)

    def _set_waiting(self, *, disk: bool) -> None:
        """Whether the next commit waits for the disk."""
        wanted = _FULL if disk else _NORMAL
        if wanted != self._synchronous:
            self._command(f"PRAGMA synchronous={wanted}")
            self._synchronous = wanted

    def _start_over(self) -> None:
        """Leave no transaction open: roll back, and close the connection if necessary. A store in
        memory is lost with its connection, so that connection is kept.
        """
        if self._broken:
            return  # there is none
        try:
            self._undo()
        except DBAPIError:
            self._broken = self._in_file
        if self._broken:
            self._close_connection()

    def _close_connection(self) -> None:
        self._broken = True
        with suppress(DBAPIError):
            self._connection.close()
        self._engine.dispose()

    def _perform(self, unit: _Unit, *, alone: bool) -> None:
        if not alone:
            self._command("SAVEPOINT unit")
        try:
            unit.result = unit.work(self._connection)
        except DBAPIError as error:
            if not self._driver.in_transaction:
                raise
            unit.error = as_store_error(error.orig)
        except BaseException as error:  # noqa: BLE001 - handed to the caller, never swallowed
            unit.error = error
        if unit.error is not None:
            self._command("ROLLBACK" if alone else "ROLLBACK TO unit")
        if not alone:
            self._command("RELEASE unit")

    def _raw(self) -> sqlite3.Connection:
        driver = self._connection.connection.driver_connection
        if not isinstance(driver, sqlite3.Connection):
            raise TypeError("not a SQLite connection")
        return driver

    def _undo(self) -> None:
        if self._driver.in_transaction:
            self._command("ROLLBACK")

    @staticmethod
    def _deliver(batch: list[_Unit]) -> None:
        by_loop: dict[asyncio.AbstractEventLoop, list[_Unit]] = {}
        for unit in batch:
            by_loop.setdefault(unit.loop, []).append(unit)
        for loop, units in by_loop.items():
            with suppress(RuntimeError):  # that loop is closed: no caller waits there any more
                loop.call_soon_threadsafe(_settle_all, units)


def _as_raised(error: BaseException) -> BaseException:
    """The error as the caller sees it."""
    return as_store_error(error.orig) if isinstance(error, DBAPIError) else error


def _settle_all(units: list[_Unit]) -> None:
    for unit in units:
        unit.settle()


def _make_private(path: Path) -> None:
    """Create an empty file that only its owner can read, unless it exists: SQLite would make it
    readable for others. The files next to it get the same mode. If it cannot be created, SQLite
    reports the reason.
    """
    with suppress(OSError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
