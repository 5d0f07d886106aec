"""What is erased is gone from the database's file, and other programs that use it lose nothing."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sa

from nanobot.errors import StoreUnwritable
from nanobot.plugins.erasure.store.writing_back import write_back
from nanobot.plugins.maintenance.store import maintenance
from nanobot.plugins.memory.records import Draft
from nanobot.session.lasting import Provenance
from nanobot.session.scopes import OWNER
from nanobot.store.database import migrate
from nanobot.store.database.database import T, Work
from nanobot.store.database.sqlite import SqliteDatabase
from tests.store.home import Home
from tests.store.making import KEY, admit, answered, claim, said

ROWS = 400
SECRET = "the safe opens with 4711"
WORD = "xylophonist"


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Home]:
    def opened() -> SqliteDatabase:
        database = SqliteDatabase(tmp_path / "state.db")
        database.run_now(migrate.prepare)
        return database

    home = Home(opened, shared=False)
    yield home
    await home.database.close()


@contextmanager
def reader(folder: Path) -> Iterator[None]:
    """A program that looks at the database and does not end its transaction."""
    with closing(sqlite3.connect(folder / "state.db", isolation_level=None)) as connection:
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM entries").fetchone()
        yield


def stands_in_a_file(folder: Path, text: str = SECRET) -> bool:
    return any(text.encode() in path.read_bytes() for path in folder.glob("state.db*"))


async def conversation(home: Home) -> None:
    journal = home.journal()
    await admit(journal, said(SECRET, key="1"))
    await answered(journal, await claim(journal), "I shall remember it.")


async def test_deleting_beside_a_reader_of_another_program_waits_for_nobody(
    home: Home, tmp_path: Path
) -> None:
    await conversation(home)
    with reader(tmp_path):
        async with asyncio.timeout(4):
            await home.eraser().delete(KEY)
        assert await home.rows("SELECT * FROM sessions") == []
        assert await home.rows("SELECT * FROM entries") == []
        assert await home.rows("SELECT * FROM erasures") == []
        await admit(home.journal(), said("again"))
    await write_back(home.database)
    assert not stands_in_a_file(tmp_path)


def _make_table(connection: sa.Connection) -> None:
    connection.exec_driver_sql("CREATE TABLE said (t TEXT)")


def _execute(sql: str, rows: Sequence[str], connection: sa.Connection) -> None:
    for text in rows:
        connection.exec_driver_sql(sql, (text,))


@pytest.mark.parametrize("seed", range(3))
def test_after_a_vacuum_no_erased_text_is_in_the_file(tmp_path: Path, seed: int) -> None:
    """Rows that SQLite moves between pages leave bytes behind that `secure_delete` misses."""
    path, rng = tmp_path / "state.db", random.Random(seed)
    texts = [f"secret {number:05} " + "x" * rng.randrange(900) for number in range(ROWS)]
    database = SqliteDatabase(path)
    database.run_now(_make_table)
    rng.shuffle(texts)
    for first in range(0, ROWS, 40):
        more = texts[first : first + 40]
        database.run_now(partial(_execute, "INSERT INTO said VALUES (?)", more))
    rng.shuffle(texts)
    erased, kept = texts[:-10], texts[-10:]
    for first in range(0, len(erased), 30):
        some = erased[first : first + 30]
        database.run_now(partial(_execute, "DELETE FROM said WHERE t = ?", some))
    database.shut()
    maintenance.vacuum(f"sqlite:///{path}")
    content = path.read_bytes()
    assert [text for text in erased if text[:12].encode() in content] == []
    assert all(text[:12].encode() in content for text in kept)


async def test_a_memory_that_a_crash_left_half_removed_leaves_no_trace_after_the_next_start(
    home: Home, tmp_path: Path
) -> None:
    memories = home.memories()
    draft = Draft(
        scope=OWNER,
        text=SECRET,
        digest=b"d",
        terms=WORD,
        state="active",
        kind="fact",
        provenance=Provenance(),
    )
    saved = await memories.save(draft)
    await memories.remove(saved.id)  # and here the process ends
    await home.reopen()
    assert stands_in_a_file(tmp_path, WORD)  # in the index, which notes beside it that it is gone
    await home.memories().leave_no_trace()
    assert not stands_in_a_file(tmp_path, WORD)


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
                await write_back(database)
            await database.transact(thin_out)
    finally:
        stop.set()
        rows = await writing
        await database.close()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("SELECT count(*) FROM theirs").fetchone() == (rows,)
    assert rows > 0


async def test_transactions_continue_while_the_log_is_written_back(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    database = SqliteDatabase(path)
    await database.transact(_make_table)
    done = asyncio.Event()

    async def write() -> int:
        rows = 0
        while not done.is_set():
            said = [f"{rows} {SECRET}"]
            await database.transact(partial(_execute, "INSERT INTO said VALUES (?)", said))
            rows += 1
        return rows

    writing = asyncio.create_task(write())
    try:
        for _ in range(20):
            await write_back(database)
        done.set()
        rows = await writing
        assert rows > 0
        await write_back(database)
        assert path.with_name("state.db-wal").stat().st_size == 0
        count = sa.text("SELECT count(*) FROM said")
        assert await database.transact(lambda connection: connection.scalar(count)) == rows
    finally:
        done.set()
        await database.close()


async def test_a_log_that_cannot_be_written_back_is_an_error_of_the_store(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    database = SqliteDatabase(path)
    await database.transact(_make_table)

    class Moved(SqliteDatabase):
        """A database whose file is gone once it has said where it is."""

        def __init__(self) -> None:
            """It is the other one."""

        async def transact(self, work: Work[T], verb: str = "") -> T:
            result = await database.transact(work, verb)
            path.rename(tmp_path / "elsewhere")
            return result

    try:
        with pytest.raises(StoreUnwritable):
            await write_back(Moved())
        assert not path.exists()
    finally:
        await database.close()
