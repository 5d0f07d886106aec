"""Short words from process to process over one PostgreSQL: LISTEN and NOTIFY.

They are hints. A server forgets what nobody listened to, so whoever depends on something looks for
it in the tables as well.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import sqlalchemy as sa
from loguru import logger

from nanobot.ports import Clock
from nanobot.store.database.postgres import PostgresDatabase
from nanobot.system import Backoff

MAX_BYTES = 7_900
"""Of one notice; PostgreSQL takes less than 8,000."""
SILENT_SECONDS = 8.0
"""A line on which not even the own heartbeat was heard for so long is dead."""

_SEND = sa.text(
    "SELECT pg_notify(c, t) FROM unnest(CAST(:channels AS text[]), CAST(:texts AS text[])) n(c, t)"
)
_SCHEMA = sa.text("SELECT coalesce(current_schema(), '')")


def name_of(owner: str) -> str:
    """A process's name to the others, by that of its leases."""
    return hashlib.blake2b(owner.encode(), digest_size=6).hexdigest()


class Notices:
    """What is sent to everybody comes back to the sender, too. Sending is a transaction of its own:
    at its commit PostgreSQL takes a lock that all senders of a server wait for."""

    def __init__(self, database: PostgresDatabase, owner: str) -> None:
        self.own = name_of(owner)
        """This process's name to the others."""
        self.sent = 0
        self._database = database
        schema = str(database.run_now(lambda connection: connection.scalar(_SCHEMA)))
        # Channels belong to the whole database, stores to one of its schemas.
        self.everybody = f"nanobot_{hashlib.blake2b(schema.encode(), digest_size=6).hexdigest()}"
        """The channel on which every process listens."""

    async def send(self, texts: Sequence[tuple[str, str]]) -> None:
        """Each is a name ("": everybody) and what that process is told. Raises StoreError."""
        given = {
            "channels": [self._channel(to) for to, _ in texts],
            "texts": [text for _, text in texts],
        }
        await self._database.transact(lambda connection: connection.execute(_SEND, given))
        self.sent += len(texts)

    async def listen(
        self, hear: Callable[[str], None], begun: Callable[[], None], clock: Clock
    ) -> None:
        """Hear what comes, on one connection, until cancelled; `begun` is called whenever the line
        stands again."""
        backoff, failures = Backoff(0.2, 10.0), 0

        def stands() -> None:
            nonlocal failures
            failures = 0
            begun()

        while True:
            error = await self._one_line(hear, stands)
            failures += 1
            logger.log("INFO" if failures < 3 else "WARNING", "notices of the others: {}", error)
            await clock.sleep(backoff.delay(failures))

    async def _one_line(self, hear: Callable[[str], None], begun: Callable[[], None]) -> str:
        """One life of the line; what ended it."""
        import psycopg  # noqa: PLC0415 - comes with an extra

        try:
            line = await psycopg.AsyncConnection.connect(
                autocommit=True, **self._database.connect_args
            )
            async with line:
                for channel in (self.everybody, self._channel(self.own)):
                    await line.execute(f'LISTEN "{channel}"'.encode())
                begun()
                while True:
                    heard = 0
                    async for notice in line.notifies(timeout=SILENT_SECONDS, stop_after=1):
                        heard += 1
                        hear(notice.payload)
                    if not heard:
                        return "the line is silent"
        except (psycopg.Error, OSError) as error:
            return f"the line is cut ({' '.join(str(error).split())[:200]})"

    def _channel(self, to: str) -> str:
        return f"{self.everybody}_{to}" if to else self.everybody
