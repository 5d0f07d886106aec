"""Reading a SQLite file on the calling thread, beside its writer."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from nanobot.store.database.reader import SqliteReader
from nanobot.store.database.sqlite import SqliteDatabase
from tests.store.conftest import sqlite

COUNT = sa.text("SELECT count(*) FROM channels")
ADD = sa.text("INSERT INTO channels (name, cursor) VALUES (:n, 'c')")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SqliteDatabase]:
    opened = sqlite(tmp_path / "a #%?folder.db")
    yield opened
    opened.shut()


def count(connection: sa.Connection) -> int:
    return int(connection.scalar(COUNT) or 0)


def reader(database: SqliteDatabase) -> SqliteReader:
    assert database.reader is not None
    return database.reader


def sizes(folder: Path) -> dict[str, int]:
    """The files of the database: what follows its name, and their sizes."""
    return {file.name.partition(".db")[2]: file.stat().st_size for file in folder.iterdir()}


async def add(database: SqliteDatabase, name: str) -> None:
    await database.transact(lambda c: c.execute(ADD, {"n": name}))


async def test_it_sees_what_was_committed_here_and_elsewhere(database: SqliteDatabase) -> None:
    await add(database, "a")
    assert await asyncio.to_thread(reader(database).read, count) == 1
    other = SqliteDatabase(Path(database._engine.url.database or ""))
    await add(other, "b")
    assert await asyncio.to_thread(reader(database).read, count) == 2
    await other.close()
    assert await asyncio.to_thread(reader(database).read, count) == 2


async def test_one_read_sees_one_state(database: SqliteDatabase) -> None:
    loop = asyncio.get_running_loop()

    def twice(connection: sa.Connection) -> tuple[int, int]:
        before = count(connection)
        asyncio.run_coroutine_threadsafe(add(database, "a"), loop).result(5)
        return before, count(connection)

    assert await asyncio.to_thread(reader(database).read, twice) == (0, 0)
    assert await asyncio.to_thread(reader(database).read, count) == 1


async def test_it_cannot_write_and_reads_again_after_an_error(database: SqliteDatabase) -> None:
    assert reader(database).read(lambda c: c.execute(ADD, {"n": "a"}).rowcount) is None
    assert reader(database).read(lambda c: c.execute(sa.text("SELECT nothing"))) is None
    assert reader(database).read(count) == 0


async def test_an_idle_reader_keeps_no_text_in_the_wal(
    database: SqliteDatabase, tmp_path: Path
) -> None:
    await add(database, "a")
    assert reader(database).read(count) == 1
    await database.checkpoint()
    assert sizes(tmp_path)["-wal"] == 0


async def test_after_the_end_there_is_only_the_file(tmp_path: Path) -> None:
    opened = sqlite(tmp_path / "state.db")
    await add(opened, "a")
    assert reader(opened).read(count) == 1
    await opened.close()
    assert list(sizes(tmp_path)) == [""]
    assert reader(opened).read(count) is None
    with closing(sqlite3.connect(tmp_path / "state.db")) as file:
        assert file.execute("SELECT count(*) FROM channels").fetchone() == (1,)


def test_a_store_in_memory_has_none() -> None:
    opened = sqlite(None)
    assert opened.reader is None
    opened.shut()
