"""PostgreSQL, where one machine is not enough: several processes work on one store."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from nanobot.store.database.errors import as_store_error, code_of
from nanobot.store.database.failpoints import Failpoints
from nanobot.store.database.sqlite import Work

T = TypeVar("T")

# A deadlock or a serialization failure: the transaction was undone and may be run again.
_AGAIN = frozenset({"40P01", "40001"})


def _leave_out_zero_bytes(connection: Any, _record: object) -> None:
    """PostgreSQL's text cannot hold them; the log, which is bytes, keeps what was said."""
    from psycopg.types.string import StrDumperUnknown  # noqa: PLC0415 - comes with an extra

    class Text(StrDumperUnknown):
        def dump(self, obj: str) -> Any:
            return super().dump(obj.replace("\0", ""))

    connection.adapters.register_dumper(str, Text)


class PostgresDatabase:
    """PostgreSQL over psycopg: a pool of connections, one thread for each. A unit of work that it
    gives up in favour of another is done again, until it was tried `tries` times."""

    dialect = "postgresql"

    def __init__(
        self, url: str, crasher: Failpoints | None = None, *, workers: int = 8, tries: int = 5
    ) -> None:
        address = sa.make_url(url).set(drivername="postgresql+psycopg")
        self._engine = sa.create_engine(address, pool_size=workers, pool_pre_ping=True)
        sa.event.listen(self._engine, "connect", _leave_out_zero_bytes)
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="store")
        self._crasher = crasher or Failpoints()
        self._tries = tries

    async def transact(self, work: Work[T], verb: str = "") -> T:
        """Run `work` on a pooled connection; see Database."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._perform, work, verb)

    def run_now(self, work: Work[T]) -> T:
        """Run `work` in a transaction on the calling thread."""
        return self._perform(work, "")

    def _perform(self, work: Work[T], verb: str) -> T:
        self._crasher.before(verb)
        result = self._committed(work, self._tries)
        self._crasher.after(verb)
        return result

    def _committed(self, work: Work[T], tries: int) -> T:
        try:
            with self._engine.begin() as connection:
                return work(connection)
        except DBAPIError as error:
            if tries == 1 or code_of(error.orig) not in _AGAIN:
                raise as_store_error(error.orig) from error
        return self._committed(work, tries - 1)

    async def scrub(self) -> None:
        """Free what was removed; recycling its log and its pages is PostgreSQL's own business."""
        await asyncio.to_thread(self._vacuum)

    def _vacuum(self) -> None:
        try:
            with self._engine.connect() as connection:
                connection.execution_options(isolation_level="AUTOCOMMIT")
                connection.exec_driver_sql("VACUUM")
        except DBAPIError as error:
            raise as_store_error(error.orig) from error

    async def close(self) -> None:
        await asyncio.to_thread(self.shut)

    def shut(self) -> None:
        """As `close`, where no loop runs."""
        self._threads.shutdown()
        self._engine.dispose()
