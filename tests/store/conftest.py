"""The same store over a file, in memory and on a real PostgreSQL."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg import sql

from nanobot.plugins.postgres.store.postgres import PostgresDatabase
from nanobot.session.runs import Claim
from nanobot.store.database import migrate
from nanobot.store.database.sqlite import SqliteDatabase
from nanobot.store.journal.journal import SqlJournal
from tests.store.home import Home
from tests.store.making import begun
from tests.store.postgres_server import started


class Postgres:
    """A PostgreSQL that is started for these tests."""

    def __init__(self, server: Any, admin: psycopg.Connection) -> None:
        self._server = server
        self._admin = admin

    def empty(self) -> str:
        """The URL of a database without tables."""
        name = f"empty_{uuid.uuid4().hex}"  # other workers make some on the same server
        self._admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return str(self._server.get_uri(database=name))

    def copy(self, url: str) -> str:
        """The URL of a database like another one, to which nobody is connected."""
        name = f"copy_{uuid.uuid4().hex}"
        query = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
        self._admin.execute(query.format(sql.Identifier(name), _database_of(url)))
        return str(self._server.get_uri(database=name))

    def drop(self, url: str) -> None:
        """Remove a database that nobody is connected to."""
        self._admin.execute(sql.SQL("DROP DATABASE {}").format(_database_of(url)))


def _database_of(url: str) -> sql.Identifier:
    return sql.Identifier(urlsplit(url).path.removeprefix("/"))


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[Postgres]:
    """Started when the first test of the first worker asks for it, stopped and removed by the last
    worker; in between they share it."""
    own = tmp_path_factory.getbasetemp()
    folder = own if worker_id == "master" else own.parent
    server = started(folder / "pg")
    with psycopg.connect(server.get_uri(), autocommit=True) as admin:
        for hurry in ("fsync", "synchronous_commit", "full_page_writes"):
            admin.execute(sql.SQL("ALTER SYSTEM SET {} = off").format(sql.Identifier(hurry)))
        admin.execute("ALTER SYSTEM SET deadlock_timeout = '50ms'")
        admin.execute("SELECT pg_reload_conf()")
        yield Postgres(server, admin)
    server.cleanup()


@pytest.fixture(scope="session")
def postgres_url(postgres: Postgres) -> str:
    """The URL of a database with our tables."""
    url = postgres.empty()
    database = PostgresDatabase(url)
    database.run_now(migrate.prepare)
    database.shut()
    return url


class Homes:
    """Stores that stay open from test to test: opening them would cost more than most tests do."""

    def __init__(self, folder: Path, request: pytest.FixtureRequest) -> None:
        self._folder = folder
        self._request = request
        self._homes: dict[str, Home] = {}

    async def get(self, kind: str) -> Home:
        """A store of that kind with nothing in it."""
        if kind not in self._homes:
            self._homes[kind] = self._opened(kind)
        home = self._homes[kind]
        await home.clear()
        return home

    def _opened(self, kind: str) -> Home:
        if kind == "postgres":
            url = self._request.getfixturevalue("postgres_url")
            return Home(lambda: PostgresDatabase(url, workers=4), shared=True)
        file = self._folder / "state.db" if kind == "file" else None
        return Home(lambda: sqlite(file), shared=False, durable=file is not None)

    def close(self) -> None:
        """Close what was opened."""
        for home in self._homes.values():
            home.database.shut()


def sqlite(path: Path | None) -> SqliteDatabase:
    """A database with our tables."""
    database = SqliteDatabase(path)
    database.run_now(migrate.prepare)
    return database


@pytest.fixture(scope="session")
def homes(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Homes]:
    """The stores, closed in the end."""
    stores = Homes(tmp_path_factory.mktemp("homes"), request)
    yield stores
    stores.close()


@pytest.fixture(params=["file", "postgres"])
async def home(request: pytest.FixtureRequest, homes: Homes) -> AsyncIterator[Home]:
    """A store that several writers may open, in a file and on a server (or what a test asks for:
    that in memory is the same code as the file)."""
    opened = await homes.get(request.param)
    yield opened
    await opened.check()


@pytest.fixture
async def new_home(tmp_path: Path) -> AsyncIterator[Home]:
    """A store in a file of its own, for tests that spoil it."""
    opened = Home(lambda: sqlite(tmp_path / "state.db"), shared=False)
    yield opened
    await opened.check()
    await opened.database.close()


@pytest.fixture
def journal(home: Home) -> SqlJournal:
    """The journal of a process over that store."""
    return home.journal()


@pytest.fixture
async def claimed(journal: SqlJournal) -> Claim:
    """A run over one message."""
    return await begun(journal)
