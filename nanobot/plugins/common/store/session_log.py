"""The log of a session as people read it: each page is one short transaction."""

from __future__ import annotations

from typing import NamedTuple

import sqlalchemy as sa

from nanobot.errors import UnknownId
from nanobot.plugins.common.store.runs import as_entry
from nanobot.plugins.common.views.entry_views import EntryView
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.verbs import SqlStore, verb

_s = schema.sessions
_e = schema.entries

_ROWS = 200
_BYTES = 512 * 1024
"""The most payload bytes of one page; a single larger entry is still read."""
_LOG = sa.select(_e.c.seq, _e.c.run_id, _e.c.at, _e.c.kind, _e.c.payload, _e.c.hash)


class Place(NamedTuple):
    """The position in a log: the last entry read and its hash, and the log's last entry when
    reading began.
    """

    seq: int
    link: bytes
    until: int


def _page(
    connection: Connection, key: str, after: int, limit: int, place: Place | None
) -> tuple[list[EntryView], Place | None]:
    """The next entries of a log (without a position: the entry after `after`), and where to
    continue; None at the end. Raises UnknownId if the log being read has been removed.
    """
    if place is None:
        until = connection.scalar(sa.select(_s.c.head_seq).where(_s.c.key == key)) or 0
    else:
        after, until = place.seq, place.until
        query = sa.select(_e.c.hash).where(_e.c.session_key == key, _e.c.seq == after)
        if connection.scalar(query) != place.link:
            raise UnknownId(f"{key} was removed while it was being read")
    query = _LOG.where(_e.c.session_key == key, _e.c.seq > after, _e.c.seq <= until)
    found: list[EntryView] = []
    link, size = b"", 0
    with connection.execute(query.order_by(_e.c.seq).limit(min(limit, _ROWS))) as rows:
        for row in rows:
            found.append(as_entry(key, row))
            link, size = row.hash, size + len(row.payload or b"")
            if size > _BYTES:
                break
    if not found or found[-1].seq >= until or len(found) == limit:
        return found, None
    return found, Place(found[-1].seq, link, until)


class SqlSessionLog(SqlStore):
    """The same code for SQLite and PostgreSQL."""

    _page = verb(_page)

    async def entries(self, key: str, *, after: int, limit: int) -> tuple[EntryView, ...]:
        """Entries of a session's log in order, starting after `after`."""
        entries, place = await self._page(key, after, limit, None)
        while place is not None:
            some, place = await self._page(key, after, limit - len(entries), place)
            entries += some
        return tuple(entries)
