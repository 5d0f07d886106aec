"""The log of a session as people read it: each page is one short transaction."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa

from nanobot.errors import RowUnreadable, StoreCorrupt, UnknownId
from nanobot.session.views import EntryView
from nanobot.store.database import schema
from nanobot.store.repositories import erasures
from nanobot.store.repositories.chain import ChainState, continued

_content = msgspec.json.Decoder(dict[str, Any])
_s = schema.sessions
_e = schema.entries
_q = schema.quarantine

_ROWS = 200
_BYTES = 512 * 1024
"""The most payload bytes of one page; a single larger entry is still read."""
_LINKS = 400
_LOG = sa.select(_e.c.seq, _e.c.run_id, _e.c.at, _e.c.kind, _e.c.payload, _e.c.hash)


class Place(NamedTuple):
    """The position in a log: the last entry read and its hash, and the log's last entry when
    reading began.
    """

    seq: int
    link: bytes
    until: int


class Walk(NamedTuple):
    """The position of a chain check. `made_at` distinguishes a session from a later one with the
    same name.
    """

    made_at: float
    state: ChainState


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


def walked(
    connection: sa.Connection, key: str, head: bytes | None, walk: Walk | None
) -> Walk | None:
    """Continue the check of a chain by some entries; None if its session has been removed. Raises
    StoreCorrupt if the chain does not hold.
    """
    going = sa.select(schema.erasures.c.name).where(
        schema.erasures.c.kind == erasures.SESSION, schema.erasures.c.name == key
    )
    made_at = connection.scalar(sa.select(_s.c.created_at).where(_s.c.key == key))
    if made_at is None or connection.scalar(going) is not None:
        return None
    if walk is not None and walk.made_at != made_at:
        return None
    state = ChainState(key, head) if walk is None else walk.state
    try:
        return Walk(made_at, continued(connection, state, _LINKS))
    except TypeError:  # SQLite stores text in a bytes column if a program writes text
        raise StoreCorrupt(f"the log of {key} holds what nanobot never wrote") from None


def keys(connection: sa.Connection, after: str) -> list[str]:
    """The names of the next sessions, some at a time."""
    query = sa.select(_s.c.key).where(_s.c.key > after).order_by(_s.c.key).limit(_LINKS)
    return list(connection.scalars(query))


def put_aside(connection: sa.Connection, session: str) -> tuple[str, str] | None:
    """The first log entry in quarantine, and why; of one session, or of all ("")."""
    query = sa.select(_q.c.row_key, _q.c.reason)
    query = query.where(_q.c.of_table == "entries", _q.c.state != "restored")
    if session:
        query = query.where(_q.c.session_key == session)
    row = connection.execute(query.order_by(_q.c.id).limit(1)).first()
    return None if row is None else (row.row_key, row.reason)
