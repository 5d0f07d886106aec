"""The tables and their revisions: the same tables both ways, a copy kept before every change."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import sqlalchemy as sa

from nanobot.errors import StoreError, StoreForeign, StoreTooNew, StoreUnwritable
from nanobot.plugins.postgres.store.postgres import PostgresDatabase
from nanobot.store.database import migrate, schema
from nanobot.store.database.migrate import OURS, Revisions
from nanobot.store.database.sqlite import SqliteDatabase
from nanobot.store.opening import bring_up_to_date
from tests.sampling import few
from tests.store.conftest import Postgres
from tests.store.making import KEY, admit, said
from tests.store.processes import opened

AnyDatabase: TypeAlias = SqliteDatabase | PostgresDatabase

NEXT = """
import sqlalchemy as sa
from alembic import op

revision = "0999"
down_revision = "HEAD"


def upgrade():
    op.add_column("sessions", sa.Column("mood", sa.Text))
    op.execute("UPDATE sessions SET mood = 'calm'")
    {more}
"""


def _write_next(folder: Path, more: str) -> None:
    step = NEXT.replace("HEAD", OURS.head).format(more=more)
    (folder / "versions" / "r0999_next.py").write_text(step)


@pytest.fixture
def future(tmp_path: Path) -> Revisions:
    """The revisions of a version to come."""
    folder = tmp_path / "50% more migrations"
    shutil.copytree(OURS.folder, folder, ignore=shutil.ignore_patterns("__pycache__"))
    _write_next(folder, "")
    return Revisions((*OURS.revisions, "0999"), folder)


@pytest.fixture
def broken_future(future: Revisions) -> Revisions:
    """The same, but its last step fails."""
    _write_next(future.folder, 'op.execute("UPDATE nothing SET x = 1")')
    return future


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[AnyDatabase]:
    """An empty database."""
    if request.param == "postgres":
        server: Postgres = request.getfixturevalue("postgres")
        empty: AnyDatabase = PostgresDatabase(server.empty())
    else:
        empty = SqliteDatabase(tmp_path / "empty.db")
    yield empty
    empty.shut()


def described(connection: sa.Connection) -> dict[str, list[tuple[Any, ...]]]:
    """Every table, column, default, key and index, as the database itself describes them."""
    if connection.dialect.name == "sqlite":
        queries = {"all": "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name"}
    else:
        queries = {
            "columns": "SELECT table_name, ordinal_position, column_name, data_type, is_nullable, "
            "column_default FROM information_schema.columns WHERE table_schema = 'public' "
            "ORDER BY table_name, ordinal_position",
            "indexes": "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1",
            "constraints": "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) "
            "FROM pg_constraint WHERE connamespace = 'public'::regnamespace ORDER BY 1, 2",
            "sequences": "SELECT sequencename FROM pg_sequences ORDER BY 1",
        }
    return {
        name: [tuple(row) for row in connection.execute(sa.text(query))]
        for name, query in queries.items()
    }


def emptied(connection: sa.Connection) -> None:
    """Remove every table."""
    schema.metadata().drop_all(connection)
    connection.exec_driver_sql("DROP TABLE alembic_version").close()


def test_the_revisions_make_the_tables_that_the_code_expects(database: AnyDatabase) -> None:
    database.run_now(migrate.create)
    expected = database.run_now(described)
    database.run_now(emptied)
    database.run_now(migrate.upgrade)
    upgraded = database.run_now(described)
    assert upgraded == expected
    assert len(next(iter(upgraded.values()))) > len(schema.metadata().tables)


# The oldest needs every step, the one before the last only the newest.
@pytest.mark.parametrize(
    "revision",
    few([OURS.revisions[0], OURS.revisions[-2], *OURS.revisions[1:-2], OURS.revisions[-1]], 2),
)
def test_a_database_of_each_revision_there_was_is_brought_to_this_one(
    database: AnyDatabase, revision: str
) -> None:
    until = OURS.revisions[: OURS.revisions.index(revision) + 1]
    database.run_now(lambda c: migrate.upgrade(c, Revisions(until, OURS.folder)))
    assert database.run_now(migrate.current) == revision
    if database.run_now(migrate.prepare):
        database.run_now(migrate.upgrade)
    upgraded = database.run_now(described)
    assert database.run_now(migrate.current) == OURS.head
    database.run_now(emptied)
    database.run_now(migrate.create)
    assert upgraded == database.run_now(described)


def test_a_new_database_needs_no_migration(database: AnyDatabase) -> None:
    assert database.run_now(migrate.current) is None
    assert not database.run_now(migrate.prepare)
    assert database.run_now(migrate.current) == OURS.head
    assert not database.run_now(migrate.prepare)


def test_the_newest_revision_is_the_last_of_the_scripts() -> None:
    scripts = sorted(OURS.folder.glob("versions/r*.py"))
    assert [script.name[1:5] for script in scripts] == list(OURS.revisions)


def test_missing_revisions_are_run_and_what_was_kept_stays(
    database: AnyDatabase, future: Revisions
) -> None:
    database.run_now(migrate.prepare)
    session = {"key": KEY, "created_at": 1.0, "updated_at": 1.0, "head_hash": b""}
    database.run_now(lambda c: c.execute(sa.insert(schema.sessions), session).close())
    assert database.run_now(lambda c: migrate.prepare(c, future))
    database.run_now(lambda c: migrate.upgrade(c, future))
    assert not database.run_now(lambda c: migrate.prepare(c, future))
    rows = database.run_now(lambda c: c.execute(sa.text("SELECT key, mood FROM sessions")).all())
    assert [tuple(row) for row in rows] == [(KEY, "calm")]


def test_a_migration_that_fails_changes_nothing(
    database: AnyDatabase, broken_future: Revisions
) -> None:
    database.run_now(migrate.prepare)
    before = database.run_now(described)
    with pytest.raises(StoreError, match="nothing"):
        database.run_now(lambda c: migrate.upgrade(c, broken_future))
    assert database.run_now(described) == before
    assert database.run_now(migrate.current) == OURS.head


# A home's file


async def older(home: Path) -> SqliteDatabase:
    """A home as this version leaves it."""
    store = opened(home)
    await admit(store.journal, said("hello"))
    await store.close()
    return SqliteDatabase(home / "state.db")


def columns(file: Path) -> set[str]:
    """The columns of a file's sessions."""
    with closing(sqlite3.connect(file)) as connection:
        return {row[1] for row in connection.execute("PRAGMA table_info(sessions)")}


def sessions(file: Path) -> list[str]:
    """What is in a file."""
    with closing(sqlite3.connect(file)) as connection:
        return [key for (key,) in connection.execute("SELECT key FROM sessions")]


async def test_a_copy_of_an_older_file_is_kept_before_it_is_changed(
    tmp_path: Path, future: Revisions
) -> None:
    database, copy = await older(tmp_path), tmp_path / "state.db.1.bak"
    bring_up_to_date(database, copy, future)
    database.shut()
    assert "mood" in columns(tmp_path / "state.db")
    assert "mood" not in columns(copy)
    assert sessions(copy) == sessions(tmp_path / "state.db") == [KEY]


async def test_the_copy_stays_when_the_change_fails(
    tmp_path: Path, broken_future: Revisions
) -> None:
    database, copy = await older(tmp_path), tmp_path / "state.db.1.bak"
    with pytest.raises(StoreError, match="nothing"):
        bring_up_to_date(database, copy, broken_future)
    database.shut()
    assert sessions(copy) == [KEY]
    await opened(tmp_path).close()


async def test_the_copy_can_take_the_files_place(tmp_path: Path, future: Revisions) -> None:
    database, copy = await older(tmp_path), tmp_path / "state.db.1.bak"
    bring_up_to_date(database, copy, future)
    database.shut()
    copy.replace(tmp_path / "state.db")
    store = opened(tmp_path)
    assert not (await admit(store.journal, said("hello")))[0].fresh
    await store.close()


async def test_where_no_copy_can_be_made_nothing_is_changed(
    tmp_path: Path, future: Revisions
) -> None:
    database = await older(tmp_path)
    with pytest.raises(StoreUnwritable, match="no copy could be made"):
        bring_up_to_date(database, tmp_path / "nowhere" / "state.db.bak", future)
    database.shut()
    assert "mood" not in columns(tmp_path / "state.db")


async def test_an_up_to_date_file_is_not_copied(tmp_path: Path) -> None:
    database = await older(tmp_path)
    bring_up_to_date(database, tmp_path / "copy.bak")
    database.shut()
    assert not (tmp_path / "copy.bak").exists()


def copies(home: Path) -> list[Path]:
    """The copies kept in a home."""
    return list(home.glob("*.bak"))


def changed(file: Path, *statements: str) -> None:
    """Do to a file what a later version does."""
    with closing(sqlite3.connect(file)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


async def test_a_file_of_a_later_version_is_left_alone(tmp_path: Path) -> None:
    (await older(tmp_path)).shut()
    file = tmp_path / "state.db"
    changed(
        file,
        "UPDATE alembic_version SET version_num = '0042'",
        "UPDATE meta SET value = '2' WHERE key = 'min_reader'",
    )
    before = file.read_bytes()
    for _ in range(2):
        with pytest.raises(StoreTooNew, match=r"revision 0042, newer .* update nanobot"):
            opened(tmp_path)
    assert file.read_bytes() == before


async def test_a_later_file_that_this_version_may_read_is_opened(tmp_path: Path) -> None:
    """Its tables only grew: it says so by the reader it asks for."""
    (await older(tmp_path)).shut()
    changed(
        tmp_path / "state.db",
        "UPDATE alembic_version SET version_num = '0042'",
        "ALTER TABLE sessions ADD COLUMN mood TEXT",
    )
    store = opened(tmp_path)
    assert not (await admit(store.journal, said("hello")))[0].fresh
    await store.close()
    assert copies(tmp_path) == []


async def test_a_later_file_that_does_not_say_who_may_read_it_is_left_alone(tmp_path: Path) -> None:
    (await older(tmp_path)).shut()
    changed(
        tmp_path / "state.db", "UPDATE alembic_version SET version_num = '0042'", "DELETE FROM meta"
    )
    with pytest.raises(StoreTooNew):
        opened(tmp_path)


@pytest.mark.parametrize("absent", [table.name for table in schema.of_plugins()])
def test_the_tables_of_a_plugin_that_was_not_installed_before_are_created(
    absent: str, tmp_path: Path
) -> None:
    whole, path = SqliteDatabase(None), tmp_path / "state.db"
    whole.run_now(migrate.prepare)
    database = SqliteDatabase(path)
    database.run_now(migrate.prepare)
    database.run_now(schema.metadata().tables[absent].drop)
    assert not database.run_now(migrate.prepare)
    assert database.run_now(described) == whole.run_now(described)
    database.shut()
    whole.shut()


def test_a_table_of_the_core_that_is_missing_is_not_created(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "state.db")
    database.run_now(migrate.prepare)
    database.run_now(schema.inbound.drop)
    with pytest.raises(StoreForeign, match=r"inbound\."):
        database.run_now(migrate.prepare)
    database.shut()
