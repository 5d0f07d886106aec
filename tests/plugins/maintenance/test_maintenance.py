"""A whole store is moved between databases, kept, put back and checked."""

from __future__ import annotations

import gzip
import shutil
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

from nanobot.channels.next_move import Keep, LookUp, Memory, Render, next_move
from nanobot.errors import StoreCorrupt, StoreError, StoreForeign, StoreLocked, UsageError
from nanobot.messages import Address
from nanobot.plugins.common.store import chain
from nanobot.plugins.common.store.at_rest import at_rest, where
from nanobot.plugins.common.store.inspection import inspect
from nanobot.plugins.maintenance.store import maintenance
from nanobot.plugins.memory import tables as memory_tables
from nanobot.plugins.postgres.store.moving import migrate_to
from nanobot.store.database import migrate, schema
from nanobot.store.database.migrate import OURS
from nanobot.store.database.sqlite import PAGE_SIZE, SqliteDatabase
from nanobot.store.opening import bring_up_to_date
from tests.sampling import few
from tests.store.conftest import Postgres
from tests.store.filling import OTHER, REVISIONS, columns, complete, everything, fill, of_revision
from tests.store.home import Home
from tests.store.making import KEY, told
from tests.store.processes import opened

TWO = 2
ENDS_FIRST = [OURS.revisions[0], OURS.revisions[-2], *OURS.revisions[1:-2], OURS.revisions[-1]]
"""The oldest revision needs every step, the one before the last only the newest."""


@pytest.fixture
async def source(tmp_path: Path) -> str:
    """The URL of a filled SQLite store that nobody has open."""
    path = tmp_path / "source" / "state.db"
    path.parent.mkdir()

    def opened() -> SqliteDatabase:
        database = SqliteDatabase(path)
        database.run_now(migrate.prepare)
        return database

    home = Home(opened, shared=False)
    await fill(home.journal(), home.eraser())
    await home.do(complete)
    await home.database.close()
    return f"sqlite:///{path}"


def content(url: str) -> dict[str, Any]:
    with at_rest(url) as database:
        return database.run_now(everything)


def restored(url: str) -> dict[str, Any]:
    """The content, without what a restored backup says of sends."""
    return {name: rows for name, rows in content(url).items() if not name.startswith("outbound")}


@pytest.mark.process
def test_a_store_goes_to_postgresql_and_back_and_is_the_same(
    source: str, postgres: Postgres, tmp_path: Path
) -> None:
    before = content(source)
    assert all(before.values())
    there, back = postgres.empty(), f"sqlite:///{tmp_path / 'back.db'}"
    moved = migrate_to(source, there)
    assert moved.rows == {name: len(rows) for name, rows in before.items()}
    assert content(there) == before
    migrate_to(there, back)
    assert content(back) == before
    assert not maintenance.check_store(back).problems


@pytest.mark.process
def test_what_comes_after_a_move_has_ids_that_nothing_had(
    source: str, postgres: Postgres, tmp_path: Path
) -> None:
    remove = sa.delete(memory_tables.memories).returning(memory_tables.memories.c.id)
    with at_rest(source) as database:
        last = database.run_now(lambda connection: connection.execute(remove).scalar_one())
    there, back = postgres.empty(), f"sqlite:///{tmp_path / 'back.db'}"
    migrate_to(source, there)
    migrate_to(there, back)
    for url in (there, back):
        with at_rest(url) as database:
            assert database.run_now(remember) > last


def remember(connection: sa.Connection) -> int:
    """One more memory, whose id is the database's own."""
    kinds: dict[type, object] = {str: "x", bytes: b"x", float: 1.0}
    columns = [column for column in memory_tables.memories.columns if column.name != "id"]
    values = {column.name: kinds[column.type.python_type] for column in columns}
    insert = sa.insert(memory_tables.memories).returning(memory_tables.memories.c.id)
    return int(connection.scalar(insert, values) or 0)


def test_a_target_that_holds_something_is_left_alone(source: str, tmp_path: Path) -> None:
    target = tmp_path / "target.db"
    shutil.copy(where(source), target)
    before = content(f"sqlite:///{target}")
    with pytest.raises(UsageError, match="not empty"):
        migrate_to(source, f"sqlite:///{target}")
    assert content(f"sqlite:///{target}") == before
    with pytest.raises(UsageError, match="already"):
        migrate_to(source, source)


def test_a_log_that_does_not_hold_is_not_moved(source: str, tmp_path: Path) -> None:
    with closing(sqlite3.connect(where(source))) as connection:
        connection.execute("UPDATE entries SET at = at + 1 WHERE seq = 2")
        connection.commit()
    target = f"sqlite:///{tmp_path / 'target.db'}"
    with pytest.raises(StoreCorrupt, match="broken at entry 2"):
        migrate_to(source, target)
    assert not any(rows for name, rows in content(target).items() if name != "meta")
    assert "broken at entry 2" in maintenance.check_store(source).problems[0]


def test_a_store_that_others_work_on_is_not_moved(
    source: str, postgres: Postgres, tmp_path: Path
) -> None:
    with (
        at_rest(source),
        pytest.raises(StoreLocked),
    ):
        migrate_to(source, f"sqlite:///{tmp_path / 'target.db'}")
    url = postgres.empty()
    migrate_to(source, url)
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE channel_leases SET until = extract(epoch FROM now()) + 60")
    with pytest.raises(StoreError, match="works on this database"):
        migrate_to(url, f"sqlite:///{tmp_path / 'target.db'}")


@pytest.mark.process
async def test_a_backup_is_taken_beside_a_gateway_and_put_back(
    source: str, postgres: Postgres, tmp_path: Path
) -> None:
    before = restored(source)
    file = tmp_path / "kept.db"
    path = Path(where(source))
    gateway = SqliteDatabase(path)
    maintenance.back_up(source, file)
    delete = sa.delete(schema.entries)
    await gateway.transact(lambda connection: connection.execute(delete))
    await gateway.close()
    with pytest.raises(UsageError, match="exists"):
        maintenance.back_up(source, file)
    kept = maintenance.restore(source, file)
    assert restored(source) == before
    with closing(sqlite3.connect(kept)) as connection:
        assert connection.execute("SELECT count(*) FROM entries").fetchone() == (0,)
    url = postgres.empty()
    assert maintenance.restore(url, file) == ""
    assert restored(url) == before
    dump = tmp_path / "dump.db"
    maintenance.back_up(url, dump)
    assert restored(f"sqlite:///{dump}") == before


@contextmanager
def writing_without_a_pause(url: str) -> Iterator[list[int]]:
    """Another connection commits as fast as it can; yields the numbers it has committed."""
    numbers, over = list[int](), threading.Event()

    def write() -> None:
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), timeout=60)) as connection:
            connection.execute("CREATE TABLE written (number INTEGER)")
            connection.execute("CREATE TABLE large (content BLOB)")
            content = "INSERT INTO large SELECT zeroblob(10000) FROM range"
            rows = "WITH RECURSIVE range(n) AS (SELECT 1 UNION SELECT n+1 FROM range LIMIT 2000) "
            connection.execute(rows + content)
            connection.commit()
            number = 0
            while not over.is_set():
                number += 1
                connection.execute("INSERT INTO written VALUES (?)", (number,))
                connection.commit()
                numbers.append(number)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        while len(numbers) < TWO and writer.is_alive():
            over.wait(0.01)
        yield numbers
    finally:
        over.set()
        writer.join()


def test_a_backup_ends_beside_a_writer_that_never_pauses(source: str, tmp_path: Path) -> None:
    file = tmp_path / "backup.db"
    with writing_without_a_pause(source) as numbers:
        before = len(numbers)
        taking = threading.Thread(target=maintenance.back_up, args=(source, file), daemon=True)
        taking.start()
        taking.join(20)
        assert not taking.is_alive()
        during = len(numbers)
    with closing(sqlite3.connect(file)) as copy:
        (kept,) = copy.execute("SELECT count(*) FROM written").fetchone()
    assert before <= kept <= during + 1


def test_a_backup_takes_the_place_of_a_store_that_is_damaged(source: str, tmp_path: Path) -> None:
    before, file, path = restored(source), tmp_path / "kept.db", Path(where(source))
    maintenance.back_up(source, file)
    damaged = path.read_bytes()[:5_000] + b"\xff" * 20_000
    path.write_bytes(damaged)
    kept = maintenance.restore(source, file)
    assert restored(source) == before
    assert Path(kept).read_bytes() == damaged


def test_a_backup_is_only_read_when_it_is_put_back(source: str, tmp_path: Path) -> None:
    """So it can be on a read-only disk: SQLite makes files next to what it opens otherwise."""
    before, folder = restored(source), tmp_path / "kept"
    folder.mkdir()
    maintenance.back_up(source, folder / "kept.db")
    maintenance.restore(source, folder / "kept.db")
    assert restored(source) == before
    assert [each.name for each in folder.iterdir()] == ["kept.db"]


def parts_of(states: Sequence[str], outbound_id: int) -> list[dict[str, Any]]:
    return [
        {
            "outbound_id": outbound_id,
            "idx": idx,
            "text": "x",
            "payload": b"",
            "key": f"{outbound_id}.{idx}",
            "state": state,
            "receipt": "5" if state == "sent" else None,
            "began_at": 1.0 if state == "sending" else None,
        }
        for idx, state in enumerate(states)
    ]


SENT_OR_NOT = [
    states
    for count in range(4)
    for states in product(("sent", "sending", "pending"), repeat=count)
    if list(states) == sorted(states, key=("sent", "sending", "pending").index)
    and states.count("sending") < TWO
]


async def test_no_send_of_a_backup_is_repeated_without_a_word(tmp_path: Path) -> None:
    """It was made while messages waited or were being sent, and they were sent since then."""
    store = opened(tmp_path / "home")
    for number, states in enumerate(SENT_OR_NOT):
        message = told("x", f"m{number}", Address("telegram", str(number)))
        await store.journal.post(f"telegram:{number}", message)
        row = await store.journal.next_outbound(message.address)
        assert row is not None
        identity = row.id
        insert, begun = sa.insert(schema.outbound_parts), sa.update(schema.outbound)
        begun = begun.where(schema.outbound.c.id == identity).values(state="sending", attempts=1)

        def write(connection: sa.Connection) -> None:
            if states:  # noqa: B023 - performed at once
                connection.execute(begun)  # noqa: B023
                connection.execute(insert, parts_of(states, identity))  # noqa: B023

        await store.database.transact(write)
    await store.close()
    url = f"sqlite:///{tmp_path / 'home' / 'state.db'}"
    maintenance.back_up(url, tmp_path / "kept.db")
    maintenance.restore(url, tmp_path / "kept.db")
    store = opened(tmp_path / "home")
    for number, states in enumerate(SENT_OR_NOT):
        row = await store.journal.next_outbound(Address("telegram", str(number)))
        assert row is not None
        move = next_move(row, tuple(part.part for part in row.parts), Memory())
        if not states:
            assert move == Render(repeat=True)
        elif set(states) == {"sent"}:
            assert isinstance(move, Keep)
        else:
            assert move == LookUp(states.count("sent")), states
    await store.close()


def test_what_is_no_backup_replaces_nothing(source: str, tmp_path: Path) -> None:
    before = content(source)
    empty, other, damaged = (tmp_path / name for name in ("empty.db", "other.db", "damaged.db"))
    empty.touch()
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE sessions (key TEXT)")
    damaged.write_bytes(b"SQLite format 3\x00" + b"\xff" * 5000)
    for file, error in ((empty, UsageError), (other, UsageError), (damaged, StoreCorrupt)):
        with pytest.raises(error):
            maintenance.restore(source, file)
    with pytest.raises(UsageError, match="no file"):
        maintenance.restore(source, tmp_path / "nowhere.db")
    assert content(source) == before
    assert sorted(tmp_path.glob("source/*.bak")) == []


def test_a_vacuum_gives_room_back_and_loses_nothing(source: str, postgres: Postgres) -> None:
    before = content(source)
    with at_rest(source) as database:
        table = "CREATE TABLE much AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 "
        table += "FROM n WHERE x < 500) SELECT hex(randomblob(1000)) FROM n"
        database.run_now(lambda connection: connection.exec_driver_sql(table).close())
        database.run_now(lambda connection: connection.exec_driver_sql("DROP TABLE much").close())
    larger, smaller = maintenance.vacuum(source)
    assert smaller < larger
    assert content(source) == before
    url = postgres.empty()
    migrate_to(source, url)
    assert all(maintenance.vacuum(url))


@pytest.mark.parametrize("read", [False, True])
def test_a_vacuum_gives_an_earlier_file_the_pages_of_new_ones(tmp_path: Path, read: bool) -> None:
    """Unless somebody reads it meanwhile: then it keeps its pages, and is vacuumed all the same."""
    path = of_revision(OURS.head, tmp_path)
    with closing(sqlite3.connect(path)) as file:
        file.executescript("PRAGMA journal_mode=DELETE; PRAGMA page_size=1024; VACUUM")
    url = f"sqlite:///{path}"
    with at_rest(url) as database:
        assert database.run_now(columns)
    before = content(url)
    with closing(sqlite3.connect(path)) as reader:
        if read:
            reader.execute("BEGIN").connection.execute("SELECT * FROM runs").fetchall()
        maintenance.vacuum(url)
        reader.rollback()
    with at_rest(url) as database:
        size = database.run_now(lambda c: c.exec_driver_sql("PRAGMA page_size").scalar())
    assert size == (1024 if read else PAGE_SIZE)
    assert content(url) == before


@pytest.mark.parametrize("revision", OURS.revisions)
def test_a_home_that_an_earlier_build_made_opens_with_all_that_was_in_it(
    revision: str, tmp_path: Path
) -> None:
    database = SqliteDatabase(of_revision(revision, tmp_path))
    before = database.run_now(columns)
    del before["meta"]
    there = database.run_now(lambda connection: everything(connection, before))
    assert all(there.values())
    bring_up_to_date(database, tmp_path / "copy.bak")
    assert database.run_now(migrate.current) == OURS.head
    assert there == database.run_now(lambda connection: everything(connection, before))
    newest = SqliteDatabase(of_revision(OURS.head, _folder(tmp_path)))
    assert there == newest.run_now(lambda connection: everything(connection, before))
    assert database.run_now(lambda connection: chain.verify(connection, KEY)) > TWO
    assert database.run_now(lambda connection: chain.verify(connection, OTHER)) == 1
    database.shut()
    newest.shut()
    assert (tmp_path / "copy.bak").exists() is (revision != OURS.head)


def _folder(tmp_path: Path) -> Path:
    folder = tmp_path / "newest"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("revision", few(ENDS_FIRST, 2))
def test_a_backup_of_an_earlier_build_is_put_back(
    revision: str, postgres: Postgres, tmp_path: Path
) -> None:
    file = of_revision(revision, tmp_path)
    url = postgres.empty()
    maintenance.restore(url, file)
    assert maintenance.check_store(url).sessions == TWO
    assert not maintenance.check_store(url).problems


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A database of a build that had other tables under the number 0001."""
    path = tmp_path / "state.db"
    packed = REVISIONS.parent / "foreign" / "before-renaming.db.gz"
    path.write_bytes(gzip.decompress(packed.read_bytes()))
    return path


def test_a_home_with_other_tables_is_refused_before_anything_is_changed(foreign: Path) -> None:
    before = foreign.read_bytes()
    copy = foreign.with_name("state.db.1700000000.bak")
    copy.touch()
    database = SqliteDatabase(foreign)
    with pytest.raises(StoreForeign, match=r"lacks the columns .* and \d+ more.*1700000000\.bak"):
        bring_up_to_date(database, foreign.with_name("state.db.1.bak"))
    database.shut()
    assert foreign.read_bytes() == before
    assert not foreign.with_name("state.db.1.bak").exists()


def test_check_and_doctor_tell_of_other_tables(foreign: Path) -> None:
    with pytest.raises(StoreForeign):
        maintenance.check_store(f"sqlite:///{foreign}")
    with pytest.raises(StoreForeign):
        inspect(f"sqlite:///{foreign}")


@pytest.mark.parametrize("revision", OURS.revisions)
def test_each_revision_has_the_columns_that_are_expected_of_it(
    revision: str, tmp_path: Path
) -> None:
    database = SqliteDatabase(of_revision(revision, tmp_path))
    there = database.run_now(columns)
    database.shut()
    assert migrate.expected(revision) == {
        f"{table}.{column}" for table, names in there.items() for column in names
    }


def test_a_column_that_is_missing_is_named(source: str) -> None:
    with closing(sqlite3.connect(source.removeprefix("sqlite:///"))) as connection:
        connection.execute("ALTER TABLE sessions RENAME COLUMN remembered_seq TO remembered")
    with pytest.raises(StoreForeign, match=r"sessions\.remembered_seq: another build"):
        content(source)


def test_there_is_a_database_of_each_revision() -> None:
    there = {file.name for file in REVISIONS.glob("*.gz")}
    assert there == {f"{revision}.db.gz" for revision in OURS.revisions}, (
        "python -m tests.store.filling makes the one of a new revision"
    )
    for file in REVISIONS.glob("*.gz"):
        assert gzip.decompress(file.read_bytes()).startswith(b"SQLite format 3")
