"""Opens a SQLite store: the lock, the check after a crash, and the migration with its copy."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import TypeAlias

from nanobot.errors import ConfigError, StoreCorrupt, StoreForeign, StoreUnwritable
from nanobot.ports import Clock, Ids
from nanobot.store.database import migrate
from nanobot.store.database.database import Database
from nanobot.store.database.errors import as_store_error
from nanobot.store.database.failpoints import Failpoints
from nanobot.store.database.lock import HomeLock
from nanobot.store.database.sqlite import SqliteDatabase
from nanobot.store.journal.journal import SqlJournal
from nanobot.store.quarantine.guard import Guard
from nanobot.store.unit import StoreContext, StoreHooks

HooksOf: TypeAlias = Callable[[StoreContext], StoreHooks]
ContextOf: TypeAlias = Callable[[float | None, str], StoreContext]


def contexts(clock: Clock, ids: Ids, hooks: HooksOf) -> ContextOf:
    """Makes the context of a store from the seconds of its leases and the prefix of their owner's
    name. The name is different at every start.
    """
    return lambda lease, identity: StoreContext(clock, ids, identity + ids.run_id(), lease, hooks)


class Store:
    """An open store. The lock is held until it closes. By `notices`, the plugin of a database tells
    the processes that share it something. `closes` False: the program that opened the database
    closes it."""

    def __init__(
        self,
        database: Database,
        writer: StoreContext,
        lock: HomeLock | None,
        notices: object = None,
        *,
        closes: bool = True,
    ) -> None:
        self.guard = Guard(database, writer)
        self.journal = SqlJournal(self.guard, writer)
        self.notices = notices
        self.database: Database = self.guard
        self.writer = writer
        self._lock, self._closes = lock, closes

    @property
    def shared(self) -> bool:
        """Whether lanes are held by leases that expire."""
        return self.writer.lease is not None

    async def close(self) -> None:
        if self._closes:
            await self.database.close()
        if self._lock is not None:
            self._lock.release()


def in_memory_database(failpoints: Failpoints | None = None) -> SqliteDatabase:
    """A private database in memory that ends with the process; it runs the same code. Its tables
    are copied from the first one, which takes a tenth of the time that creating them does.
    """
    database = SqliteDatabase(None, failpoints)
    database.take_over(_empty_tables())
    return database


@cache
def _empty_tables() -> sqlite3.Connection:
    database = SqliteDatabase(None)
    try:
        database.run_now(migrate.prepare)
        return database.copy_in_memory()
    finally:
        database.shut()


def open_sqlite(
    home: Path, url: str, context_of: ContextOf, command: str, failpoints: Failpoints
) -> Store:
    """Open the SQLite store of a home. `url` empty: in the home. Raises StoreLocked, StoreTooNew,
    StoreCorrupt or StoreUnwritable."""
    path = sqlite_path(url or f"sqlite:///{home / 'state.db'}")
    if path is None:
        return Store(in_memory_database(failpoints), context_of(None, ""), None)
    lock = HomeLock(path.parent, command, f"{path.stem}.lock")
    try:
        context = context_of(None, "")
        if lock.unclean and path.exists():
            check(path)
        database = SqliteDatabase(path, failpoints, lock)
        try:
            copy = path.with_name(f"{path.name}.{int(context.clock.now())}.bak")
            bring_up_to_date(database, copy)
        except BaseException:
            database.shut()
            raise
    except BaseException:
        lock.release(clean=not lock.unclean)  # the check that was due is still due
        raise
    return Store(database, context, lock)


def sqlite_path(url: str) -> Path | None:
    """The file of a SQLite URL; None: it is in memory. Raises ConfigError and StoreUnwritable."""
    # All of it is the path: for SQLAlchemy, one with a "?" would end there.
    _, _, file = url.partition(":///")
    if file == ":memory:":
        return None
    if not file:
        raise ConfigError('database_url must name a file: "sqlite:////var/lib/nanobot/state.db"')
    path = Path(file)
    if path.exists() and not path.is_file():  # of a pipe, SQLite would wait for the other end
        raise StoreUnwritable(f"{path} is not a file: move it away; the database belongs there")
    return path


def uri_of(path: Path) -> str:
    """The URI by which SQLite opens a file, whatever characters its path has."""
    return path.absolute().as_uri()


def bring_up_to_date(
    database: SqliteDatabase, copy: Path, history: migrate.Revisions = migrate.OURS
) -> None:
    """Create the tables, or copy the database and run the missing revisions. Raises StoreForeign,
    which names the newest copy of an earlier update, if the tables do not match.
    """
    try:
        behind = database.run_now(lambda connection: migrate.prepare(connection, history))
    except StoreForeign as error:
        copies = sorted(copy.parent.glob("*.bak"), key=lambda file: file.stat().st_mtime)
        if not copies:
            raise
        raise StoreForeign(f"{error}; the newest is {copies[-1]}") from error
    if behind:
        database.back_up(copy)
        database.run_now(lambda connection: migrate.upgrade(connection, history))


def check(path: Path, *, thorough: bool = False, uri: str = "") -> None:
    """Run SQLite's own integrity check; raises StoreCorrupt with its findings. A `thorough` check
    includes indexes. `uri`: opens the file, if not as a gateway does.
    """
    pragma = "integrity_check" if thorough else "quick_check"
    try:
        with closing(sqlite3.connect(uri or uri_of(path), uri=True)) as connection:
            rows = connection.execute(f"PRAGMA {pragma}(3)").fetchall()
    except sqlite3.Error as error:
        raise as_store_error(error) from error
    if rows != [("ok",)]:
        problems = "; ".join(" ".join(str(row[0]).split()) for row in rows)
        raise StoreCorrupt(
            f"{path} is damaged ({problems}): `nanobot db restore FILE` replaces it with a backup "
            "(*.bak next to it)"
        )
