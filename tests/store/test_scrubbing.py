"""Scrubbing overwrites what is unused in the database's file, and nothing else, whoever writes."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import sqlalchemy as sa

from nanobot.store.database.sqlite import SqliteDatabase

ROWS = 400


def outsider(path: Path, stop: threading.Event) -> int:
    """A program that heeds no lock of ours: writes, and folds the WAL into the file, all the time.
    Returns how many rows it has kept."""
    rows = 0
    with closing(sqlite3.connect(path, timeout=10, isolation_level=None)) as connection:
        while not stop.is_set():
            connection.execute("INSERT INTO theirs VALUES (?, zeroblob(?))", (rows, 700 + rows % 9))
            rows += 1
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    return rows


async def test_nothing_of_another_writer_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    database = SqliteDatabase(path)

    def fill(connection: sa.Connection) -> None:
        connection.execute(sa.text("CREATE TABLE ours (id INTEGER PRIMARY KEY, t TEXT)"))
        connection.execute(sa.text("CREATE TABLE theirs (id INTEGER PRIMARY KEY, b BLOB)"))
        for number in range(ROWS):
            connection.execute(sa.text("INSERT INTO ours VALUES (:n, :t)"), {"n": number, "t": "x"})

    def thin_out(connection: sa.Connection) -> None:
        connection.execute(sa.text("DELETE FROM ours WHERE id % 7 = 0"))

    await database.transact(fill)
    stop = threading.Event()
    writing = asyncio.create_task(asyncio.to_thread(outsider, path, stop))
    try:
        for _ in range(10):
            async with asyncio.timeout(30):
                await database.scrub()
            await database.transact(thin_out)
    finally:
        stop.set()
        rows = await writing
        await database.close()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("SELECT count(*) FROM theirs").fetchone() == (rows,)
    assert rows > 0
