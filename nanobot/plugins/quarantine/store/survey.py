"""Reads every row of a store, to find unreadable ones. It changes nothing."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import sqlalchemy as sa

from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.quarantine import raw
from nanobot.store.quarantine.raw import Page, RawRow
from nanobot.store.quarantine.readable import flaws

_PAGE = 200
"""Rows read at once."""


class Unreadable(msgspec.Struct, frozen=True, kw_only=True):
    """The location of an unreadable row: its first bad column, and why."""

    table: str
    key: str
    column: str
    reason: str


def survey(connection: Connection, now: float) -> Iterator[Unreadable]:
    """Every unreadable row of a store; changes nothing."""
    for table in schema.metadata().sorted_tables:
        for page in _pages(connection, table):
            for row in page:
                for flaw in flaws(table, row, now)[:1]:
                    key = raw.shown_key(raw.key_of(table, row))
                    yield Unreadable(
                        table=table.name, key=key, column=flaw.column, reason=flaw.reason
                    )


def _pages(connection: Connection, table: sa.Table) -> Iterator[list[RawRow]]:
    """Iterate over a table in the order of its key."""
    page = Page(table, limit=_PAGE)
    while found := raw.read(connection, page):
        yield found
        page = msgspec.structs.replace(page, after=raw.key_of(table, found[-1]))
