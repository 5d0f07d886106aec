"""Reads rows as the product does, to find unreadable ones."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import msgspec
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from nanobot.boundary import boundary
from nanobot.errors import RowUnreadable
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.database.database import Database
from nanobot.store.database.strict_types import LARGEST_INTEGER
from nanobot.store.quarantine import keeping, raw
from nanobot.store.quarantine.raw import Page, RawRow
from nanobot.store.quarantine.readable import Flaw, flaws, readable
from nanobot.store.unit import StoreContext, Unit

Pause: TypeAlias = Callable[[], Awaitable[None]]

_PAGE = 200
"""Rows read in one transaction, so that other units get a turn."""

_SESSIONS_WAITED_FOR = sa.text(
    "sessions.key IN (SELECT session_key FROM inbound WHERE inbound.state != 'settled' UNION "
    "SELECT session_key FROM runs WHERE runs.state NOT IN ('completed', 'failed', 'aborted'))"
)
_PARTS_OWED = sa.text(
    "outbound_parts.outbound_id IN (SELECT id FROM outbound WHERE outbound.state IN "
    "('pending', 'sending'))"
)


class Sweeper:
    """Moves unreadable rows into quarantine, one page of a table per transaction."""

    def __init__(self, database: Database, writer: StoreContext) -> None:
        self._database = database
        self._writer = writer
        self._tables = tuple(schema.metadata().sorted_tables)

    async def named(self, table: sa.Table, key: tuple[object, ...], reason: str) -> int:
        """The row that a reader failed on."""
        return await self._database.transact(
            lambda c: self._named(Unit(c, self._writer), table, key, reason)
        )

    async def working(self) -> int:
        """The rows in use: active and pending ones, and the small tables."""
        return await self.pending() + await self.resting()

    async def pending(self) -> int:
        """The active and pending rows, which something waits for. This takes as long as there are
        such rows, whatever else the store has.
        """
        count = 0
        for table in self._tables:
            if (where := table.info.get("in_use")) is not None:
                count += await self._swept(table, where)
        for table in self._tables:
            keys = list(table.primary_key)
            if len(keys) == 1 and keys[0].type.python_type is int:
                # A row with an id so large that no database has a next one.
                count += await self._swept(table, sa.text(f"{keys[0]} > {LARGEST_INTEGER}"))
        count += await self._swept(schema.sessions, _SESSIONS_WAITED_FOR)
        return count + await self._swept(schema.outbound_parts, _PARTS_OWED)

    async def resting(self, pause: Pause | None = None) -> int:
        """The small tables, which grow with chats, people and jobs. `pause`: after each page."""
        count = 0
        for table in self._tables:
            if not table.info.keys() & {"large", "in_use"}:
                count += await self._swept(table, pause=pause)
        return count

    async def all(self, *, logs: bool) -> int:
        """Every table; the logs, which are most of a store, only on demand."""
        tables = [table for table in self._tables if table is not schema.entries]
        count = 0
        for table in [*tables, schema.entries] if logs else tables:
            count += await self._swept(table)
        return count

    async def _swept(
        self, table: sa.Table, *where: sa.TextClause, pause: Pause | None = None
    ) -> int:
        count, page = 0, Page(table, where, _order(table, where), limit=_PAGE)
        while True:
            found, after = await self._database.transact(partial(self._step, page))
            count += found
            if after is None:
                return count
            page = msgspec.structs.replace(page, after=after)
            if pause is not None:
                await pause()

    def _step(self, page: Page, connection: Connection) -> tuple[int, RawRow | None]:
        """How many rows of the page were moved, and its end, if more rows may follow."""
        unit = Unit(connection, self._writer)
        plain = self._plain(unit, page)
        if plain is not None:
            return 0, raw.plain_place(page.order, plain[-1]) if len(plain) == _PAGE else None
        rows = raw.read(unit, page)
        count = sum(self._judged(unit, page.table, row) for row in rows)
        return count, raw.place_of(page.order, rows[-1]) if len(rows) == _PAGE else None

    def _plain(self, unit: Unit, page: Page) -> Sequence[sa.Row[Any]] | None:
        """A page of a table if all its rows are readable; None: read it row by row."""
        now = unit.now
        try:
            rows = raw.read_plain(unit, page)
        except (RowUnreadable, DBAPIError):
            return None
        return rows if all(readable(page.table, row, now) for row in rows) else None

    def _judged(self, unit: Unit, table: sa.Table, row: RawRow) -> bool:
        found = flaws(table, row, unit.now)
        return bool(found) and self._put_aside(unit, table, row, found)

    def _named(self, unit: Unit, table: sa.Table, key: tuple[object, ...], reason: str) -> int:
        names = [str(column.name) for column in table.primary_key]
        place = dict(zip(names, map(raw.of, key), strict=True))
        count = 0
        for row in raw.read(unit, Page(table, (raw.where(unit, place),))):
            found = flaws(table, row, unit.now)
            found = found or [Flaw(_content(table), reason)]
            count += self._put_aside(unit, table, row, found)
        return count

    def _put_aside(self, unit: Unit, table: sa.Table, row: RawRow, found: Sequence[Flaw]) -> bool:
        """Move the row aside; if that fails, leave it, and go on with the others."""
        unit.exec_driver_sql("SAVEPOINT aside")
        moved = False
        with boundary(f"moving an unreadable row of {table.name} aside") as caught:
            moved = keeping.put_aside(unit, table, row, found)
        if caught.error is not None:
            unit.exec_driver_sql("ROLLBACK TO SAVEPOINT aside")
        unit.exec_driver_sql("RELEASE SAVEPOINT aside")
        return moved


def _order(table: sa.Table, where: Sequence[sa.TextClause]) -> Sequence[sa.Column[Any]]:
    """The order in which a page of rows is found without reading others: that of the index with
    their condition, if there is one. In the order of their keys, SQLite reads the whole table.
    """
    key = list(table.primary_key)
    for index in sorted(table.indexes, key=lambda index: str(index.name)):
        condition = index.dialect_options["sqlite"]["where"]
        if any(condition is each for each in where):
            return list(dict.fromkeys([*index.columns, *key]))
    return key


def _content(table: sa.Table) -> str:
    """The column that holds a row's subject."""
    names: list[Any] = [name for name in ("payload", "body") if name in table.c]
    return str(names[0]) if names else table.columns.keys()[-1]
