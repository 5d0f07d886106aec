"""Short notices between processes over one PostgreSQL, with LISTEN and NOTIFY.

Notices are hints. The server drops those that have no listener, so code that depends on a change
also polls the tables.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import sqlalchemy as sa
from loguru import logger

from nanobot.plugins.postgres.store.identity import life_lock, name_of
from nanobot.plugins.postgres.store.postgres import PostgresDatabase
from nanobot.ports import Clock
from nanobot.retries import Backoff

if TYPE_CHECKING:
    import psycopg

MAX_BYTES = 7_900
"""The limit of one notice; PostgreSQL accepts less than 8,000."""
SILENT_SECONDS = 20.0
"""A connection on which not even our own heartbeat arrives for this long is dead."""
LONGEST_PAUSE = 5.0
"""Delay between two attempts to connect."""

_SEND = sa.text(
    "SELECT pg_notify(c, t) FROM unnest(CAST(:channels AS text[]), CAST(:texts AS text[])) n(c, t)"
)
_SCHEMA = sa.text("SELECT coalesce(current_schema(), '')")
_LIVES = b"SELECT pg_advisory_lock_shared(%d)"


class Notices:
    """A broadcast also reaches its sender. Sending takes a transaction of its own, because
    PostgreSQL takes a lock at its commit that all senders of the server wait for.
    """

    def __init__(self, database: PostgresDatabase, owner: str) -> None:
        self.own = name_of(owner)
        """The name under which other processes know this process."""
        self.sent = 0
        self.listening_since: float | None = None
        """By the monotonic clock; None while the process is not listening."""
        self._database = database
        schema = str(database.run_now(lambda connection: connection.scalar(_SCHEMA)))
        # Channels are per database, but a store occupies only one schema of it.
        self.everybody = f"nanobot_{hashlib.blake2b(schema.encode(), digest_size=6).hexdigest()}"
        """The channel that every process listens on."""

    @property
    def line(self) -> str:
        """The channel for notices to this process only, or "" while it is not listening."""
        return "" if self.listening_since is None else self._channel(self.own)

    async def send(self, texts: Sequence[tuple[str, str]]) -> None:
        """Send notices: pairs of a recipient's name ("": all processes) and a text. Raises
        StoreError.
        """
        given = {
            "channels": [self._channel(to) for to, _ in texts],
            "texts": [text for _, text in texts],
        }
        await self._database.transact(lambda connection: connection.execute(_SEND, given))
        self.sent += len(texts)

    async def listen(
        self, hear: Callable[[str], None], begun: Callable[[], None], clock: Clock
    ) -> None:
        """Listen on one connection until cancelled, and call `begun` whenever the connection is
        established anew. The connection holds the lock that shows other processes that this one is
        alive.
        """
        backoff, failures = Backoff(0.2, LONGEST_PAUSE), 0

        def connected() -> None:
            nonlocal failures
            failures = 0
            self.listening_since = clock.monotonic()
            begun()

        while True:
            try:
                error = await self._one_line(hear, connected)
            finally:
                self.listening_since = None
            failures += 1
            logger.log("INFO" if failures < 3 else "WARNING", "notices of the others: {}", error)
            await clock.sleep(backoff.delay(failures))

    async def _one_line(self, hear: Callable[[str], None], begun: Callable[[], None]) -> str:
        """Run one connection until it ends; returns the error that ended it."""
        import psycopg  # noqa: PLC0415 - comes with an extra

        try:
            line = await psycopg.AsyncConnection.connect(
                autocommit=True, **self._database.connect_args
            )
            async with line:
                line.add_notify_handler(lambda notice: hear(notice.payload))
                await line.execute(_LIVES % life_lock(self.own))
                for channel in (self.everybody, self._channel(self.own)):
                    await line.execute(f'LISTEN "{channel}"'.encode())
                begun()
                await _hear_until_silent(line, hear)
        except (psycopg.Error, OSError) as error:
            return f"the connection is cut ({' '.join(str(error).split())[:200]})"
        return "the connection is silent"

    def _channel(self, to: str) -> str:
        return f"{self.everybody}_{to}" if to else self.everybody


async def _hear_until_silent(line: psycopg.AsyncConnection, hear: Callable[[str], None]) -> None:
    """Return when nothing was received for SILENT_SECONDS. psycopg's own wait polls the connection
    ten times a second; here the event loop wakes up when data arrives.
    """
    loop, came, encoding = asyncio.get_running_loop(), asyncio.Event(), line.info.encoding
    descriptor = line.fileno()
    loop.add_reader(descriptor, came.set)
    try:
        with suppress(TimeoutError):
            while True:
                async with asyncio.timeout(SILENT_SECONDS):
                    await came.wait()
                came.clear()
                line.pgconn.consume_input()
                while (notice := line.pgconn.notifies()) is not None:
                    hear(notice.extra.decode(encoding))
    finally:
        loop.remove_reader(descriptor)
