"""One way into the database: a unit of work is one function, run in one hop, in one transaction.

SQLite is here: one writer thread; what waits there together is committed together (each unit in
its own savepoint), so a burst shares one fsync.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Protocol, TypeAlias, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from nanobot.errors import StoreUnwritable
from nanobot.store.database.errors import as_store_error
from nanobot.store.database.failpoints import Failpoints
from nanobot.store.database.prepared import PreparingConnection

T = TypeVar("T")
Work: TypeAlias = Callable[[sa.Connection], T]

_BATCH = 64


class Database(Protocol):
    """The executor of units of work."""

    dialect: str

    async def transact(self, work: Work[T], verb: str = "") -> T:
        """Run `work` in one transaction and return what it returned, after the commit.

        If it raises, nothing of it is kept. Errors of the database come as StoreError.
        """
        ...

    async def scrub(self) -> None:
        """Leave no trace of removed content in the database's files."""
        ...

    async def close(self) -> None:
        """Finish what was handed in, then let go."""
        ...


class _Unit:
    """One unit of work on its way through the writer thread. `afterwards` follows its commit."""

    __slots__ = ("afterwards", "error", "future", "loop", "result", "verb", "work")

    def __init__(
        self, work: Work[Any], verb: str, afterwards: Callable[[], None] | None = None
    ) -> None:
        self.work = work
        self.verb = verb
        self.afterwards = afterwards
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

    def __init__(self, path: Path | None, crasher: Failpoints | None = None) -> None:
        url = "sqlite://" if path is None else f"sqlite:///{path}"
        self._engine = sa.create_engine(
            url,
            isolation_level="AUTOCOMMIT",
            poolclass=sa.pool.StaticPool,
            connect_args={"check_same_thread": False},
        )
        self._crasher = crasher or Failpoints()
        self._inbox: SimpleQueue[_Unit | None] = SimpleQueue()
        self._connection = self._open()
        self._driver = self._raw()
        self._connection.prepare(self._driver)
        self._thread = threading.Thread(target=self._serve, name="store", daemon=True)
        self._thread.start()

    def _open(self) -> PreparingConnection:
        try:
            connection = PreparingConnection(self._engine)
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
        """A consistent copy, in a file of its own; only before the first `transact`."""
        try:
            with closing(sqlite3.connect(target)) as copy:
                self._driver.backup(copy)
        except sqlite3.Error as error:
            target.unlink(missing_ok=True)
            raise StoreUnwritable(f"no copy could be made before migrating ({error})") from error

    async def scrub(self) -> None:
        """Write the file anew: secure_delete would leave what was once moved between pages."""
        unit = _Unit(lambda _: None, "", self._write_anew)
        self._inbox.put(unit)
        await unit.future

    def _write_anew(self) -> None:
        self._command("PRAGMA temp_store=FILE")  # as much as the database itself, for a moment
        self._command("VACUUM")
        self._command("PRAGMA temp_store=MEMORY")
        self._command("PRAGMA wal_checkpoint(TRUNCATE)")

    async def close(self) -> None:
        """Commit what was handed in, end the thread, fold the WAL into the file."""
        await asyncio.to_thread(self.shut)

    def shut(self) -> None:
        """As `close`, where no loop runs."""
        self._inbox.put(None)
        self._thread.join()
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
        """All units of the batch in one transaction, each able to fail alone.

        Trouble that ends the transaction under them (a full disk may) fails them all.
        """
        for unit in batch:
            self._crasher.before(unit.verb)
        try:
            self._command("BEGIN IMMEDIATE")
            for unit in batch:
                self._perform(unit, alone=len(batch) == 1)
            if self._driver.in_transaction:
                self._command("COMMIT")
        except DBAPIError as error:
            self._undo()
            for unit in batch:
                unit.error = unit.error or as_store_error(error.orig)
        for unit in batch:
            if unit.error is None:
                self._crasher.after(unit.verb)
                self._follow_up(unit)

    def _follow_up(self, unit: _Unit) -> None:
        if unit.afterwards is not None:
            try:
                unit.afterwards()
            except DBAPIError as error:
                unit.error = as_store_error(error.orig)

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
            with suppress(RuntimeError):  # that loop is closed: nobody waits there any more
                loop.call_soon_threadsafe(_settle_all, units)


def _settle_all(units: list[_Unit]) -> None:
    for unit in units:
        unit.settle()
