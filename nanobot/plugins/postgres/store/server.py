"""The store in PostgreSQL, by its URL: opened for a gateway or at rest, read, and backed up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

from nanobot.errors import ConfigError, StoreError, UsageError
from nanobot.plugins.common.store import lease_tables
from nanobot.plugins.postgres.store import channel_leases, lane_leases
from nanobot.plugins.postgres.store.chat_claims import SqlChatClaims
from nanobot.plugins.postgres.store.identity import identity_of
from nanobot.plugins.postgres.store.lease_terms import LANE
from nanobot.plugins.postgres.store.notices import Notices
from nanobot.plugins.postgres.store.postgres import PostgresDatabase
from nanobot.plugins.postgres.store.reaching import until_reached
from nanobot.plugins.postgres.store.transfer import head_of, move, patiently
from nanobot.ports import Clock
from nanobot.store.database import migrate, schema
from nanobot.store.database.database import T, Work
from nanobot.store.database.failpoints import Failpoints
from nanobot.store.database.sqlite import SqliteDatabase
from nanobot.store.opening import ContextOf, Store
from nanobot.store.plugin_tables import Revisions


class PostgresServer:
    """See common.store.servers.WholeServer."""

    def __init__(self, url: str) -> None:
        self._url = url

    @property
    def where(self) -> str:
        return sa.make_url(self._url).render_as_string(hide_password=True)

    async def reached(self, clock: Clock) -> None:
        await until_reached(self._url, clock)

    def open(
        self, home: Path, command: str, context_of: ContextOf, failpoints: Failpoints
    ) -> Store:
        """What the previous process of that home held is released."""
        database = PostgresDatabase(self._url, failpoints)
        identity = identity_of(home, command)
        name, lock = identity or ("", None)
        writer = context_of(LANE.seconds, name)
        writer.chats = SqlChatClaims(writer.owner)
        try:
            _bring_up_to_date(database)
            if identity is not None:
                database.run_now(lambda connection: _bury(connection, name))
            notices = Notices(database, writer.owner)
            return Store(database, writer, lock, notices)
        except BaseException:
            database.shut()
            if lock is not None:
                lock.release()
            raise

    @contextmanager
    def at_rest(self) -> Iterator[PostgresDatabase]:
        with self._opened() as database:
            _bring_up_to_date(database)
            database.run_now(_refuse_if_used)
            yield database

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        with self._opened() as database, database.reading() as connection:
            sa.event.listen(connection, "begin", patiently)
            yield connection

    def look(self, work: Work[T]) -> T:
        with self._opened() as database:
            return database.run_now(work)

    def back_up(self, file: Path, plugins: Mapping[str, Revisions]) -> tuple[str, ...]:
        copy = SqliteDatabase(file)
        try:
            with self._opened() as database:
                if database.run_now(migrate.current) is None:
                    raise UsageError("the database is empty: there is nothing to keep")
                return database.run_now(
                    lambda r: copy.run_now(lambda w: move(r, w, head_of, plugins))
                ).left
        finally:
            copy.shut()

    def restore(self, copy: Path, plugins: Mapping[str, Revisions]) -> None:
        source = SqliteDatabase(copy)
        try:
            with self.at_rest() as target:
                source.run_now(lambda r: target.run_now(lambda w: move(r, w, head_of, plugins)))
        finally:
            source.shut()

    def vacuum(self) -> tuple[int, int]:
        with self._opened() as database:
            before = database.run_now(_size)
            database.vacuum()
            return before, database.run_now(_size)

    @contextmanager
    def _opened(self) -> Iterator[PostgresDatabase]:
        database = PostgresDatabase(self._url, workers=1)
        try:
            yield database
        finally:
            database.shut()


def _bring_up_to_date(database: PostgresDatabase) -> None:
    database.run_now(make_schema)
    if database.run_now(migrate.prepare):
        database.run_now(_upgrade)


def _upgrade(connection: sa.Connection) -> None:
    patiently(connection)
    connection.exec_driver_sql("SET LOCAL statement_timeout = 0").close()  # of a step
    migrate.upgrade(connection)


def make_schema(connection: sa.Connection) -> None:
    """Create the schema that the URL names if necessary. Raises ConfigError for a search path of
    several schemas.
    """
    if connection.scalar(sa.text("SELECT current_schema()")) is not None:
        return
    path = str(connection.scalar(sa.text("SHOW search_path")))
    if "," in path:
        raise ConfigError(f"database_url has search_path={path}: name one schema that exists")
    name = connection.dialect.identifier_preparer.quote_identifier(path.strip('"'))
    # Of processes that start together, one creates it and the others wait for its commit.
    connection.execute(sa.text("SELECT pg_advisory_xact_lock(hashtext('schemas'))"))
    connection.exec_driver_sql(f"CREATE SCHEMA IF NOT EXISTS {name}")


def _bury(connection: sa.Connection, identity: str) -> None:
    """The previous holder of this identity is dead: release everything it held."""
    lane_leases.free_all(connection, identity)
    channel_leases.free_all(connection, identity)


def _refuse_if_used(connection: sa.Connection) -> None:
    now = sa.text("SELECT extract(epoch FROM clock_timestamp())")
    at = float(connection.scalar(now) or 0.0)
    for table, until in (
        (schema.sessions, schema.sessions.c.lease_until),
        (lease_tables.channel_leases, lease_tables.channel_leases.c.until),
    ):
        query = sa.select(table.c.owner).where(table.c.owner.is_not(None), until > at).limit(1)
        owner = connection.scalar(query)
        if owner is not None:
            raise StoreError(f"{owner} works on this database: stop every gateway on it first")


def _size(connection: sa.Connection) -> int:
    return int(connection.scalar(sa.text("SELECT pg_database_size(current_database())")) or 0)
