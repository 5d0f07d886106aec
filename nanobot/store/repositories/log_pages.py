"""The log of a session as people read it: each page is one short transaction."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa

from nanobot.errors import RowUnreadable, UnknownId
from nanobot.session.views import EntryView
from nanobot.store.database import schema

_content = msgspec.json.Decoder(dict[str, Any])
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


def page(
    connection: sa.Connection, key: str, after: int, limit: int, place: Place | None
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


def as_entry(key: str, row: sa.Row[*tuple[Any, ...]]) -> EntryView:
    """An entry as people see it. Raises RowUnreadable."""
    try:  # the stored form
        body = None if row.payload is None else _content.decode(row.payload)
    except (msgspec.DecodeError, ValueError, TypeError) as error:
        message = f"entry {row.seq} of {key} cannot be read: {error}"
        raise RowUnreadable(message, "entries", (key, row.seq)) from error
    return EntryView(seq=row.seq, run_id=row.run_id, at=row.at, kind=row.kind, body=body)
