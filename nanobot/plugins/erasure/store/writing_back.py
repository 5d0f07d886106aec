"""Writes the log of a SQLite database back into its file, so that no erased text stays in it."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from nanobot.store.database.connection import Connection
from nanobot.store.database.database import Database
from nanobot.store.database.errors import as_store_error
from nanobot.store.opening import uri_of

_TRIES, _TRY_SECONDS = 20, 0.02
"""A try fails while a transaction of the gateway is open, or while another program reads."""


async def write_back(database: Database) -> None:
    """Empty the write-ahead log, as far as readers in other programs allow: they are not waited
    for. A database without such a file needs nothing. Raises StoreError."""
    if database.dialect == "sqlite":
        file = await database.transact(_file)
        if file:
            await asyncio.to_thread(_emptied, Path(file))


def _file(connection: Connection) -> str:
    """The path of the database; "" if it is in memory."""
    (_, _, file), *_ = connection.exec_driver_sql("PRAGMA database_list").all()
    return str(file or "")


def _emptied(path: Path) -> None:
    """By a connection of its own. Most is copied first while transactions continue: the rest, for
    which they have to wait, is small."""
    uri = f"{uri_of(path)}?mode=rw"
    try:
        with closing(sqlite3.connect(uri, uri=True, timeout=0, isolation_level=None)) as connection:
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            for _ in range(_TRIES):
                busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                if not busy:
                    return
                time.sleep(_TRY_SECONDS)
    except sqlite3.Error as error:
        raise as_store_error(error) from error
