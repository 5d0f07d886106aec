"""Guards every unit of work, so that one unreadable row does not stop the others.

A unit of work that fails while it reads rows is rolled back. Then the unreadable rows are searched
for and moved to quarantine, and the unit is retried without them. If a unit fails for any other
reason, no such row is found, and the unit fails as before.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

import msgspec

from nanobot.boundary import boundary
from nanobot.errors import RowUnreadable
from nanobot.messages import Address
from nanobot.store.database import schema
from nanobot.store.database.database import Database, Work, ignored
from nanobot.store.quarantine.sweeping import Pause, Sweeper
from nanobot.store.unit import StoreContext, Unit

T = TypeVar("T")

READING_FAILED = (
    RowUnreadable,
    msgspec.MsgspecError,
    TypeError,
    ValueError,
    LookupError,
    ArithmeticError,
    AttributeError,
    RecursionError,
)
"""The errors of a unit of work that reads an invalid value."""
_TRIES = 50
_FRUITLESS_SECONDS = 60.0
"""An error that no row explains is not investigated again for this long."""
_MOST_FRUITLESS = 10
"""How many searches may find nothing in that time: each reads the store, and an attacker may be
able to cause errors with different texts.
"""


class Care(Protocol):
    """Tells people about rows in quarantine. A plugin may offer it."""

    def tell(self, unit: Unit) -> list[Address]:
        """Tell people about rows of which they do not know yet. Returns the chats with unsent
        notices about rows. Repeating it has no effect.
        """


class Guard:
    """A Database around another one that no unreadable row can stop. `care`: tells people about
    such rows; without it they are only named in the log. `owed`: called with each chat that has a
    pending notice.
    """

    def __init__(self, inner: Database, writer: StoreContext) -> None:
        self.inner = inner
        self.dialect = inner.dialect
        self.close = inner.close
        self.care: Care | None = None
        self.owed: list[Callable[[Address], None]] = []
        self.on_commit: Callable[[float], None] = ignored
        """Called with the seconds from submitting a unit of work to its result."""
        self._writer = writer
        self._sweeper = Sweeper(inner, writer)
        self._fruitless: dict[str, float] = {}
        self._looking = asyncio.Lock()
        self._finds = 0

    async def transact(self, work: Work[T], verb: str = "") -> T:
        """See Database. A unit of work may be executed several times; the changes of one execution
        are kept.
        """
        self._writer.units += 1
        try:
            return await self._transact(work, verb)
        finally:
            self._writer.units -= 1

    async def _transact(self, work: Work[T], verb: str) -> T:
        for _ in range(_TRIES):
            before = self._finds
            began = time.monotonic()
            try:
                done = await self.inner.transact(work, verb)
            except READING_FAILED as error:
                if not await self._put_aside(error, verb, before):
                    raise
            else:
                self.on_commit(time.monotonic() - began)
                return done
        return await self.inner.transact(work, verb)

    async def look_at_pending(self) -> int:
        """Quarantine unreadable rows among those that something waits for: some of them would not
        fail, but wait forever. Returns the number of rows."""
        return await self._looked(self._sweeper.pending)

    async def look_at_others(self, pause: Pause | None = None) -> int:
        """The same for the rows of all chats, people and jobs. A unit that needs such a row finds
        it as well. `pause`: called after each page.
        """
        return await self._looked(lambda: self._sweeper.resting(pause))

    async def _looked(self, search: Callable[[], Awaitable[int]]) -> int:
        count = 0
        with boundary("looking for rows that cannot be read"):
            count = await search()
            await self._tell()
        return count

    async def _put_aside(self, error: Exception, verb: str, before: int) -> bool:
        """Search for the row that made this unit fail. When many units fail at once, there is one
        search: after another unit's find, a unit is simply retried.
        """
        async with self._looking:
            return self._finds != before or await self._found(error, verb)

    async def _found(self, error: Exception, verb: str) -> bool:
        signature = f"{type(error).__name__} {verb} {error}"[:300]
        now = time.monotonic()
        self._fruitless = {key: at for key, at in self._fruitless.items() if at > now}
        crowded = len(self._fruitless) >= _MOST_FRUITLESS and not isinstance(error, RowUnreadable)
        if crowded or signature in self._fruitless:
            return False
        count = 0
        with boundary("looking for the row that cannot be read"):
            count = await self._swept(error)
            if count:
                await self._tell()
        if not count:
            self._fruitless[signature] = now + _FRUITLESS_SECONDS
        self._finds += bool(count)
        return bool(count)

    async def _swept(self, error: Exception) -> int:
        tables = schema.metadata().tables
        if isinstance(error, RowUnreadable) and error.key and error.table in tables:
            named = await self._sweeper.named(tables[error.table], error.key, str(error))
            if named:
                return named
        count = await self._sweeper.working()
        return count or await self._sweeper.all(logs=isinstance(error, RowUnreadable))

    async def _tell(self) -> None:
        care = self.care
        if care is None:
            return
        told = await self.inner.transact(
            lambda connection: care.tell(Unit(connection, self._writer)), "quarantine_told"
        )
        for address in dict.fromkeys(told):
            for call in self.owed:
                call(address)
