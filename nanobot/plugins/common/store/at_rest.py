"""A store that no gateway of this process has open: where it is, to read it, and to work on it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from nanobot.errors import UsageError
from nanobot.plugins.common.store.servers import DatabaseAtRest, whole_server_of
from nanobot.store.database.dialect import one_snapshot
from nanobot.store.database.errors import as_store_error
from nanobot.store.database.lock import HomeLock
from nanobot.store.database.sqlite import SqliteDatabase
from nanobot.store.opening import bring_up_to_date, sqlite_path, uri_of

COMMAND = "nanobot db"
"""What the lock of a home says of those who work on its store."""


def where(url: str) -> str:
    """The location of a store, without its password."""
    path = file_of(url)
    return str(path) if path is not None else whole_server_of(url).where


@contextmanager
def at_rest(url: str) -> Iterator[DatabaseAtRest]:
    """Open the database of a URL for exclusive use, with the tables of this version. Raises
    StoreLocked, and StoreError while other processes work on it.
    """
    path = file_of(url)
    if path is None:
        with whole_server_of(url).at_rest() as database:
            yield database
        return
    with HomeLock(path.parent, COMMAND, f"{path.stem}.lock"):
        file = SqliteDatabase(path)
        try:
            bring_up_to_date(file, path.with_name(f"{path.name}.{int(time.time())}.bak"))
            yield file
        finally:
            file.shut()


def file_of(url: str) -> Path | None:
    """The file of a SQLite store; None: the store is in PostgreSQL. Raises UsageError for a store
    in memory.
    """
    if not url.startswith("sqlite"):
        return None
    path = sqlite_path(url)
    if path is None:
        raise UsageError("a store in memory ends with its gateway: set database_url to keep one")
    return path


def present(url: str) -> Path | None:
    """Like `file_of`, of a store that exists. Raises UsageError if it does not."""
    path = file_of(url)
    if path is not None and not path.exists():
        raise UsageError(f"there is no store at {path} yet: the first start makes it")
    return path


@contextmanager
def reading(url: str) -> Iterator[sa.Connection]:
    """A read-only connection, which also works while a gateway runs. It sees one snapshot until
    `begin_reading`. Raises UsageError if there is no store yet, StoreError if it cannot be read.
    """
    path = present(url)
    if path is None:
        with whole_server_of(url).reading() as connection:
            begin_reading(connection)
            yield connection
        return
    with read_only(path) as connection:
        begin_reading(connection)
        yield connection


@contextmanager
def read_only(path: Path) -> Iterator[sa.Connection]:
    """A connection that reads a SQLite file. Whatever the database refuses within the block is a
    StoreError that says what to do.
    """
    query = {"mode": "ro", "uri": "true"}
    engine = sa.create_engine(sa.URL.create("sqlite", database=uri_of(path), query=query))
    try:
        with engine.connect() as connection:
            yield connection
    except DBAPIError as error:
        raise as_store_error(error.orig) from error
    finally:
        engine.dispose()


def begin_reading(connection: sa.Connection) -> None:
    """Begin a new snapshot: read what is committed now."""
    connection.rollback()
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN")
    one_snapshot(connection)
