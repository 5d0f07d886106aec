"""Scrubbing overwrites what is unused in the database's file, and nothing else, whoever writes."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
import sqlalchemy as sa

from nanobot.errors import TracesLeft
from nanobot.memory.port import OWNER, Provenance
from nanobot.memory.records import Draft
from nanobot.store.database import migrate
from nanobot.store.database.sqlite import SqliteDatabase
from tests.store.home import Home
from tests.store.making import KEY, admit, answered, claim, said

ROWS = 400
SECRET = "the safe opens with 4711"
WORD = "xylophonist"
PATIENCE = 0.2


@pytest.fixture
async def impatient(tmp_path: Path) -> AsyncIterator[Home]:
    """A store that does not wait long for other programs."""

    def opened() -> SqliteDatabase:
        database = SqliteDatabase(tmp_path / "state.db", patience=PATIENCE)
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


async def test_who_deletes_beside_a_reader_of_another_program_is_told_soon_and_what_to_do(
    impatient: Home, tmp_path: Path
) -> None:
    await conversation(impatient)
    eraser = impatient.eraser()
    with reader(tmp_path):
        async with asyncio.timeout(10):
            with pytest.raises(TracesLeft, match=r"lsof .*state\.db"):
                await eraser.delete(KEY)
        assert await impatient.rows("SELECT * FROM sessions") == []
        assert await impatient.rows("SELECT * FROM entries") == []
        await admit(impatient.journal(), said("again"))  # nobody else is held up
        assert stands_in_a_file(tmp_path)
    await impatient.reopen()
    await impatient.eraser().finish()
    assert not stands_in_a_file(tmp_path)
    assert await impatient.rows("SELECT * FROM erasures") == []


async def test_what_a_reader_was_in_the_way_of_goes_by_itself_when_it_has_ended(
    impatient: Home, tmp_path: Path
) -> None:
    await conversation(impatient)
    eraser = impatient.eraser()
    running = asyncio.create_task(eraser.run())
    with reader(tmp_path), pytest.raises(TracesLeft):
        await eraser.delete(KEY)
    async with asyncio.timeout(10):
        while await impatient.rows("SELECT * FROM erasures"):
            impatient.clock.advance(60.0)
            await asyncio.sleep(0.01)
    assert not stands_in_a_file(tmp_path)
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running


async def test_many_who_delete_beside_a_reader_wait_no_longer_than_one(
    impatient: Home, tmp_path: Path
) -> None:
    database = impatient.database
    await conversation(impatient)
    loop = asyncio.get_running_loop()
    with reader(tmp_path):
        begin = loop.time()
        failures = await asyncio.gather(
            *(database.scrub() for _ in range(20)), return_exceptions=True
        )
    assert all(isinstance(failure, TracesLeft) for failure in failures)
    assert loop.time() - begin < 10 * PATIENCE


async def test_a_memory_that_a_crash_left_half_removed_leaves_no_trace_after_the_next_start(
    impatient: Home, tmp_path: Path
) -> None:
    memories = impatient.memories()
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
    await impatient.reopen()
    assert stands_in_a_file(tmp_path, WORD)  # in the index, which notes beside it that it is gone
    await impatient.memories().leave_no_trace()
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
