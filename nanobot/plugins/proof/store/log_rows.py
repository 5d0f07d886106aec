"""Reads the rows of a log as the chain was computed over them, one short transaction a page."""

from __future__ import annotations

from typing import Any, NamedTuple

import sqlalchemy as sa

from nanobot.errors import UnknownId
from nanobot.session.chain import GENESIS
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.verbs import SqlStore, verb

_e = schema.entries
_s = schema.sessions

ROWS = 200
BYTES = 512 * 1024
"""The most payload bytes of one page; a single larger entry is still read."""


class Row(NamedTuple):
    """A row of a log."""

    seq: int
    run_id: str
    kind: str
    at: float
    salt: bytes | None
    payload: bytes | None
    digest: bytes
    hash: bytes


class Place(NamedTuple):
    """The last entry that was read, and its hash."""

    seq: int
    link: bytes


class Page(NamedTuple):
    """The next rows of a log, and the number of its last entry at that moment."""

    rows: tuple[Row, ...]
    last: int


def start(connection: Connection, key: str, after: int) -> Place:
    """The place behind an entry; 0: the beginning. Raises UnknownId."""
    last = connection.scalar(sa.select(_s.c.head_seq).where(_s.c.key == key))
    if last is None:
        raise UnknownId(f"There is no session {key}; `sessions list` lists them.")
    if after == 0:
        return Place(0, GENESIS)
    link = connection.scalar(_hash_of(key, after))
    if link is None:
        raise UnknownId(f"The log of {key} has entries 1 to {last}, not {after}.")
    return Place(after, bytes(link))


def following(connection: Connection, key: str, place: Place) -> Page:
    """The rows after a place. Raises UnknownId if the log was removed meanwhile."""
    last = connection.scalar(sa.select(_s.c.head_seq).where(_s.c.key == key))
    gone = place.seq and connection.scalar(_hash_of(key, place.seq)) != place.link
    if last is None or gone:
        raise UnknownId(f"{key} was removed while it was being read")
    query = (
        sa.select(_e.c.seq, _e.c.run_id, _e.c.kind, _e.c.at, _e.c.salt, _e.c.payload)
        .add_columns(_e.c.digest, _e.c.hash)
        .where(_e.c.session_key == key, _e.c.seq > place.seq)
        .order_by(_e.c.seq)
        .limit(ROWS)
    )
    found: list[Row] = []
    size = 0
    with connection.execute(query) as rows:
        for row in rows:
            found.append(Row(*row))
            size += len(row.payload or b"")
            if size > BYTES:
                break
    return Page(tuple(found), last)


def _hash_of(key: str, seq: int) -> sa.Select[Any]:
    return sa.select(_e.c.hash).where(_e.c.session_key == key, _e.c.seq == seq)


class LogPages(SqlStore):
    """The same code for SQLite and PostgreSQL."""

    start = verb(start)
    following = verb(following)
