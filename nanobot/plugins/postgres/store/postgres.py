"""PostgreSQL, for when one machine is not enough: several processes work on one store."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from nanobot.plugins.common.optional import require
from nanobot.plugins.postgres.store import dialect, raw_rows  # noqa: F401 - they register themselves
from nanobot.plugins.postgres.store.pipeline import Pipeline
from nanobot.store.database.database import Work
from nanobot.store.database.errors import as_store_error, code_of
from nanobot.store.database.failpoints import Failpoints
from nanobot.store.database.prepared import PIPELINE, Stale
from nanobot.store.database.strict_types import number

T = TypeVar("T")

# A deadlock or a serialization failure: the transaction was rolled back and can be retried.
_AGAIN = frozenset({"40P01", "40001"})

LIMITS: Mapping[str, str] = {
    "lock_timeout": "8s",
    "statement_timeout": "15s",
    # For a process that was suspended or cut off within a transaction: others wait for its locks.
    "idle_in_transaction_session_timeout": "5s",
}
HANG_SECONDS = 20.0
"""A unit of work without an answer for this long will never get one: its connection is cut."""
_NETWORK: Mapping[str, str] = {
    "connect_timeout": "10",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
}


def _address(url: str, limits: Mapping[str, str]) -> sa.URL:
    """The URL's options, with our limits wherever the URL does not set them."""
    address = sa.make_url(url).set(drivername="postgresql+psycopg")
    ours = " ".join(f"-c {name}={value}" for name, value in limits.items())
    theirs = address.query.get("options", "")
    options = f"{ours} {theirs if isinstance(theirs, str) else ' '.join(theirs)}".strip()
    return address.set(query={**_NETWORK, **address.query, "options": options})


def _leave_out_zero_bytes(connection: Any, _record: object) -> None:
    """PostgreSQL's text cannot contain zero bytes. The log stores bytes and keeps the original."""
    from psycopg.types.string import StrDumperUnknown  # noqa: PLC0415 - comes with an extra

    class Text(StrDumperUnknown):
        def dump(self, obj: str) -> Any:
            return super().dump(obj.replace("\0", ""))

    connection.adapters.register_dumper(str, Text)


def _be_strict(connection: Any, _record: object) -> None:
    """Refuses numbers that the store never writes (NaN, infinity) when it reads them."""
    from psycopg.types.numeric import Float8BinaryLoader, FloatLoader  # noqa: PLC0415 - see above

    class Text(FloatLoader):
        def load(self, data: Any) -> float:
            return float(number(super().load(data)))

    class Binary(Float8BinaryLoader):
        def load(self, data: Any) -> float:
            return float(number(super().load(data)))

    connection.adapters.register_loader("float8", Text)
    connection.adapters.register_loader("float8", Binary)


def _send_what_waits(connection: sa.Connection, *_: object) -> None:
    """Called before a statement that bypasses the pipeline."""
    pipeline: Pipeline = connection.info[PIPELINE]
    pipeline.flush()
    pipeline.check_open()


class _Unit:
    """A unit of work and its connection, which is cut if the unit hangs."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._loop = asyncio.get_running_loop()
        self._began: tuple[int, float] | None = None
        self._timer = self._loop.call_later(patience, self._look)

    def begin(self, connection: sa.Connection) -> None:
        """Runs on the thread that does the work."""
        driver: Any = connection.connection.driver_connection
        self._began = (driver.fileno(), time.monotonic())

    def over(self) -> None:
        self._timer.cancel()

    def _look(self) -> None:
        descriptor, at = self._began or (None, time.monotonic())
        left = at + self._patience - time.monotonic()
        again = self._patience if left <= 0 else max(left, 0.01)
        self._timer = self._loop.call_later(again, self._look)
        if descriptor is None or left > 0:
            return
        # A copy of the descriptor: closing it leaves the driver's own descriptor to the driver.
        with suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as connection:
            connection.shutdown(socket.SHUT_RDWR)


def _done(connection: sa.Connection, work: Work[T]) -> T:
    """Run the unit in a transaction. A failed unit leaves no open transaction; if necessary, its
    connection is closed.
    """
    committed = False
    try:
        result = work(connection)
        connection.info[PIPELINE].commit()
        if connection.in_transaction():
            connection.commit()
        committed = True
    finally:
        if not committed:
            _roll_back(connection)
    return result


def _roll_back(connection: sa.Connection) -> None:
    with suppress(DBAPIError):  # the connection is broken
        if connection.in_transaction():
            connection.rollback()
        if not connection.invalidated:
            driver: Any = connection.connection.driver_connection
            connection.info[PIPELINE].roll_back()
            if driver.closed:
                connection.invalidate()


class PostgresDatabase:
    """PostgreSQL through psycopg: several threads, each with its own connection. A unit of work
    that the server aborts in favor of another is retried up to `tries` times. A unit whose
    connection is lost before its commit was sent is retried once.

    No wait is unbounded: neither for a lock, nor for a statement, nor for a silent server
    (`patience` seconds). When the limit is reached, the unit fails with StoreError.
    """

    dialect = "postgresql"

    def __init__(
        self,
        url: str,
        failpoints: Failpoints | None = None,
        *,
        workers: int = 8,
        tries: int = 5,
        patience: float = HANG_SECONDS,
        limits: Mapping[str, str] = LIMITS,
    ) -> None:
        require("postgres", "database_url")
        address = _address(url, limits)
        self._engine = sa.create_engine(address, poolclass=sa.pool.NullPool)
        self.connect_args: Mapping[str, Any] = self._engine.dialect.create_connect_args(address)[1]
        """The arguments for a separate psycopg connection."""
        sa.event.listen(self._engine, "connect", _leave_out_zero_bytes)
        sa.event.listen(self._engine, "connect", _be_strict)
        sa.event.listen(self._engine, "connect", self._have_pipeline)
        sa.event.listen(self._engine, "before_cursor_execute", _send_what_waits)
        self._own = threading.local()
        self._connections: list[sa.Connection] = []
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="store")
        self._failpoints = failpoints or Failpoints()
        self._tries = tries
        self._patience = patience

    def _have_pipeline(self, connection: Any, record: Any) -> None:
        record.info[PIPELINE] = Pipeline(connection, self._engine.dialect)

    async def transact(self, work: Work[T], verb: str = "") -> T:
        unit = _Unit(self._patience)
        loop = asyncio.get_running_loop()
        try:
            perform = partial(self._perform, work, verb, unit.begin)
            return await loop.run_in_executor(self._threads, perform)
        finally:
            unit.over()

    def run_now(self, work: Work[T]) -> T:
        """Run `work` in a transaction on the calling thread, without a time limit: to migrate
        tables, or to wait for another process that does.
        """

        def unhurried(connection: sa.Connection) -> T:
            for name in ("lock_timeout", "statement_timeout"):
                connection.exec_driver_sql(f"SET LOCAL {name} = 0")
            return work(connection)

        try:
            with self._engine.connect() as connection:
                return self._committed(connection, unhurried, "", lambda _: None)
        except DBAPIError as error:
            raise as_store_error(error.orig) from error

    def _perform(self, work: Work[T], verb: str, begin: Callable[[sa.Connection], None]) -> T:
        try:
            return self._committed(self._connection(), work, verb, begin)
        except DBAPIError as error:
            raise as_store_error(error.orig) from error

    def _connection(self) -> sa.Connection:
        """This thread's own connection. Borrowing from a pool and returning costs more than a
        statement does.
        """
        connection: sa.Connection | None = getattr(self._own, "connection", None)
        if connection is None:
            connection = self._own.connection = self._engine.connect()
            self._connections.append(connection)
        return connection

    def _committed(
        self,
        connection: sa.Connection,
        work: Work[T],
        verb: str,
        begin: Callable[[sa.Connection], None],
    ) -> T:
        self._failpoints.before(verb)
        result = self._tried(connection, work, begin, self._tries)
        self._failpoints.after(verb)
        return result

    def _tried(
        self,
        connection: sa.Connection,
        work: Work[T],
        begin: Callable[[sa.Connection], None],
        tries: int,
    ) -> T:
        begin(connection)
        if not connection.info[PIPELINE].begin():
            connection.invalidate()  # it was closed while idle
            begin(connection)
        pipeline: Pipeline = connection.info[PIPELINE]
        try:
            return _done(connection, work)
        except Stale as stale:
            stale.forget()  # so the next try reads it, and cannot fail like this
        except DBAPIError as error:
            undone = connection.invalidated and not pipeline.committing
            if tries == 1 or not (undone or code_of(error.orig) in _AGAIN):
                raise
            if undone:
                tries = min(tries, 2)  # a silent server gets two waits
            tries -= 1
        return self._tried(connection, work, begin, tries)

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Run a transaction that is always rolled back."""
        try:
            with self._engine.connect() as connection:
                yield connection
        except DBAPIError as error:
            raise as_store_error(error.orig) from error

    def vacuum(self) -> None:
        """Free the space of removed rows."""
        try:
            with self._engine.connect() as connection:
                connection.execution_options(isolation_level="AUTOCOMMIT")
                connection.exec_driver_sql("SET statement_timeout = 0")
                try:
                    connection.exec_driver_sql("VACUUM")
                finally:
                    connection.exec_driver_sql("RESET statement_timeout")
        except DBAPIError as error:
            raise as_store_error(error.orig) from error

    async def close(self) -> None:
        await asyncio.to_thread(self.shut)

    def shut(self) -> None:
        """Like `close`, for when no event loop runs."""
        self._threads.shutdown()
        for connection in self._connections:
            with suppress(DBAPIError):  # the connection is broken
                connection.close()
        self._engine.dispose()
