"""How long a store's thread is busy with each unit of work."""

from __future__ import annotations

import time
from collections.abc import Awaitable
from typing import Any, TypeVar

from nanobot.store.database.database import Work
from nanobot.store.database.sqlite import SqliteDatabase

T = TypeVar("T")


class TimedDatabase:
    """A database that knows how long the longest unit of work kept its thread busy, by the name
    it was given. What else runs on the machine makes that no longer."""

    dialect = "sqlite"

    def __init__(self, database: SqliteDatabase) -> None:
        self.longest: dict[str, float] = {}
        self.name = ""
        self._database = database

    async def transact(self, work: Work[T], verb: str = "") -> T:
        """As the database does it. Work within `named` goes by that name, else by its verb."""
        name = self.name or verb

        def timed(connection: Any) -> T:
            begin = time.thread_time()
            try:
                return work(connection)
            finally:
                taken = time.thread_time() - begin
                self.longest[name] = max(self.longest.get(name, 0.0), taken)

        return await self._database.transact(timed, verb)

    async def named(self, name: str, done: Awaitable[T]) -> T:
        """Whatever this does goes by that name."""
        self.name = name
        try:
            return await done
        finally:
            self.name = ""

    async def close(self) -> None:
        """As the database does it."""
        await self._database.close()
