"""Reads a SQLite file on the calling thread, without waiting for the writer's."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, suppress
from pathlib import Path
from typing import TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from nanobot.errors import RowUnreadable
from nanobot.store.database.database import Database
from nanobot.store.database.strict_types import COMPILED, STRICT

T = TypeVar("T")

_CACHE_KB = 256
"""It reads little, and the writer's connection has its own cache."""
_BUSY_SECONDS = 0.5


class SqliteReader:
    """A second connection that cannot write. Each read sees one snapshot, with everything that was
    committed before it began, by this process or another one (WAL).

    It is opened by the first read. What fails here is left to `transact`, which repeats it, repairs
    rows or tells people: a read that fails closes the connection and returns None.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._connection: sa.Connection | None = None
        self._closed = False

    def read(self, work: Callable[[sa.Connection], T]) -> T | None:
        """Run `work`, which only reads, on this thread; it may wait for the disk. None: use
        `transact`."""
        with self._lock:
            try:
                connection = self._connection or self._open()
                return None if connection is None else _in_snapshot(connection, work)
            except (DBAPIError, sqlite3.Error, RowUnreadable):
                self._drop()
                return None

    def pausing(self) -> AbstractContextManager[object]:
        """Within this context nothing is read: for what readers would keep from being complete."""
        return self._lock

    def close(self) -> None:
        """Close the connection; later reads return None."""
        with self._lock:
            self._closed = True
            self._drop()

    def _open(self) -> sa.Connection | None:
        if self._closed:
            return None
        file, only = self._path.absolute().as_uri(), {"mode": "ro", "uri": "true"}
        engine = sa.create_engine(
            sa.URL.create(STRICT, database=file, query=only),
            isolation_level="AUTOCOMMIT",
            poolclass=sa.pool.StaticPool,
            connect_args={"check_same_thread": False, "timeout": _BUSY_SECONDS},
            execution_options={"compiled_cache": COMPILED},
        )
        connection = self._connection = engine.connect()
        for pragma in (f"cache_size=-{_CACHE_KB}", "temp_store=MEMORY"):
            connection.exec_driver_sql(f"PRAGMA {pragma}").close()
        return connection

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(DBAPIError, sqlite3.Error), closing(connection):
                connection.engine.dispose()


def _in_snapshot(connection: sa.Connection, work: Callable[[sa.Connection], T]) -> T:
    driver = connection.connection.driver_connection
    if not isinstance(driver, sqlite3.Connection):
        raise TypeError("not a SQLite connection")
    driver.execute("BEGIN")
    try:
        return work(connection)
    finally:
        driver.execute("COMMIT")


def reader_of(database: Database) -> SqliteReader | None:
    """What reads that database on the calling thread; None if it is not a file of SQLite."""
    found = getattr(database, "reader", None)
    return found if isinstance(found, SqliteReader) else None
