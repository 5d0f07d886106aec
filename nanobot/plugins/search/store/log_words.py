"""The rows of the full-text index of conversations: added after the log entries, and searched.
All code that removes an entry's payload removes them in the same transaction.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from typing import Any

import msgspec
import sqlalchemy as sa

from nanobot.plugins.common.store import full_text, search_tables
from nanobot.plugins.common.store.session_views import SILENT
from nanobot.plugins.search.query import Wanted, for_postgresql, for_sqlite
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.database.dialect import alone, insert_or_set
from nanobot.store.database.prepared import Prepared
from nanobot.store.journal import log

_e = schema.entries
_o = schema.outbound
_s = schema.sessions
_w = search_tables.log_words
_done = search_tables.indexed_logs

KINDS = ("user", "reply", "post", "summary", "triage")
"""Entries that can contain text of a person or the assistant."""
ENTRIES_AT_ONCE = 50
_SESSIONS_AT_ONCE = 500
_MICROSECOND = 1_000_000
_LARGEST_TIME = 2**53 - 2**32
_IDS_AT_ONCE = 64

_SAID = sa.or_(*(_e.c.kind == sa.literal_column(f"'{kind}'") for kind in KINDS))
_INSERT = Prepared(sa.insert(_w))
_BEHIND = Prepared(
    sa.select(_s.c.key, _s.c.head_seq, _done.c.last)
    .outerjoin(_done, _done.c.session_key == _s.c.key)
    .where(_s.c.key > sa.bindparam("after"))
    .order_by(_s.c.key)
    .limit(_SESSIONS_AT_ONCE)
)
_SENT = Prepared(
    sa.select(_o.c.id, _o.c.session_key)
    .where(_o.c.id > sa.bindparam("last"))
    .order_by(_o.c.id)
    .limit(_SESSIONS_AT_ONCE)
)
_LAST = Prepared(sa.select(_done.c.last).where(_done.c.session_key == sa.bindparam("k")))
_NEXT = Prepared(
    sa.select(_e.c.seq, _e.c.at, sa.case((_SAID, _e.c.payload)).label("payload"))
    .where(_e.c.session_key == sa.bindparam("k"), _e.c.seq > sa.bindparam("last"))
    .order_by(_e.c.seq)
    .limit(ENTRIES_AT_ONCE)
)
_TAKEN = Prepared(
    sa.select(_w.c.id).where(_w.c.id >= sa.bindparam("first")).order_by(_w.c.id).limit(_IDS_AT_ONCE)
)
# The join order is fixed: the index returns rows in the order of their ids, the newest first, so a
# search stops when its page is full.
_SQLITE = (
    "SELECT w.id, w.session_key, w.seq, e.run_id, e.at, e.payload, s.title "
    "FROM log_words_fts CROSS JOIN log_words w ON w.id = log_words_fts.rowid "
    "CROSS JOIN entries e ON e.session_key = w.session_key AND e.seq = w.seq "
    "CROSS JOIN sessions s ON s.key = w.session_key "
    "WHERE log_words_fts MATCH :q AND log_words_fts.rowid < :before "
)
_SQLITE_END = "ORDER BY log_words_fts.rowid DESC LIMIT :n"
_POSTGRESQL = (
    "SELECT w.id, w.session_key, w.seq, e.run_id, e.at, e.payload, s.title "
    "FROM log_words w "
    "JOIN entries e ON e.session_key = w.session_key AND e.seq = w.seq "
    "JOIN sessions s ON s.key = w.session_key "
    "WHERE to_tsvector('simple'::regconfig, w.terms) @@ to_tsquery('simple'::regconfig, :q) "
    "AND w.id < :before "
)
_POSTGRESQL_END = "ORDER BY w.id DESC LIMIT :n"


class Unindexed(msgspec.Struct, frozen=True):
    """Entries of a session, the first after `last`: number, time, and the payload of those with
    text.
    """

    session_key: str
    last: int
    entries: tuple[tuple[int, float, bytes | None], ...]


class IndexedEntry(msgspec.Struct, frozen=True):
    """An entry with its terms, a text for each row."""

    seq: int
    at: float
    rows: tuple[str, ...]


def behind(connection: Connection, after: str) -> tuple[list[str], str | None]:
    """Of some sessions, those with unindexed entries, and where to continue; None: that was all."""
    rows = _BEHIND.execute(connection, after=after).all()
    keys = [key for key, head, last in rows if head > (last or 0) and key not in SILENT]
    return keys, rows[-1].key if len(rows) == _SESSIONS_AT_ONCE else None


def last_sent(connection: Connection) -> int:
    """The newest message for a chat."""
    return connection.scalar(sa.select(sa.func.max(_o.c.id))) or 0


def sent(connection: Connection, last: int) -> tuple[list[str], int]:
    """The sessions of the next messages for chats after that one, and the last of these."""
    rows = _SENT.execute(connection, last=last).all()
    return list(dict.fromkeys(row.session_key for row in rows)), rows[-1].id if rows else last


def unindexed(connection: Connection, key: str) -> Unindexed | None:
    """The next entries of a session; None: all are indexed."""
    last = _LAST.scalar(connection, k=key) or 0
    rows = _NEXT.execute(connection, k=key, last=last).all()
    if not rows or key in SILENT:
        return None
    return Unindexed(key, last, tuple((row.seq, row.at, row.payload) for row in rows))


def keep(connection: Connection, part: Unindexed, entries: Sequence[IndexedEntry]) -> bool:
    """Index these entries. Returns False if another process was faster, or the session was
    removed.
    """
    key = part.session_key
    alone(connection, "log words")  # one after another: ids are assigned here
    if log.HEAD.execute(connection, k=key).first() is None:  # locked, see log.HEAD
        return False
    if (_LAST.scalar(connection, k=key) or 0) != part.last:
        return False
    # Skip entries that were erased after they were read.
    numbers = [entry.seq for entry in entries]
    there = sa.select(_e.c.seq, _e.c.at).where(_e.c.session_key == key, _e.c.seq.in_(numbers))
    alive = {(seq, at) for seq, at in connection.execute(there.where(_e.c.payload.is_not(None)))}
    rows: list[dict[str, Any]] = []
    taken: set[int] = set()
    for entry in entries:
        for terms in entry.rows if (entry.seq, entry.at) in alive else ():
            identity = _free(connection, entry.at, taken)
            taken.add(identity)
            found_by = f"{place(key)} {terms}"
            rows.append({"id": identity, "session_key": key, "seq": entry.seq, "terms": found_by})
    if rows:
        _INSERT.many(connection, rows)
        full_text.LOGS.tend(connection)
    last = part.entries[-1][0]
    insert_or_set(connection, _done, ("last",), {"session_key": key, "last": last})
    return True


def find(
    connection: Connection,
    wanted: Sequence[Wanted],
    keys: Sequence[str] | None,
    before: int,
    limit: int,
) -> Sequence[sa.Row[*tuple[Any, ...]]]:
    """The rows that match the whole query, the newest first, before an id; `keys`: only in these
    sessions.
    """
    sqlite = connection.dialect.name == "sqlite"
    places = [] if keys is None else [place(key) for key in keys]
    values: dict[str, Any] = {"before": before, "n": limit}
    values["q"] = for_sqlite(wanted, places) if sqlite else for_postgresql(wanted)
    begin, end = (_SQLITE, _SQLITE_END) if sqlite else (_POSTGRESQL, _POSTGRESQL_END)
    if keys is None:
        return connection.execute(sa.text(begin + end), values).all()
    only: sa.BindParameter[Any] = sa.bindparam("keys", expanding=True)
    query = sa.text(f"{begin}AND w.session_key IN :keys {end}").bindparams(only)
    return connection.execute(query, values | {"keys": list(keys)}).all()


def place(key: str) -> str:
    """A term that every row of a session has and no text contains, so that the index alone finds
    one conversation among all.
    """
    return f"k{hashlib.sha256(key.encode('utf-8', 'replace')).hexdigest()[:20]}"


def _free(connection: Connection, at: float, taken: Collection[int]) -> int:
    """The first unused id, from that time on."""
    first = int(min(max(at, 0.0) * _MICROSECOND, _LARGEST_TIME))
    while True:
        there = {row.id for row in _TAKEN.execute(connection, first=first)}
        for identity in range(first, first + _IDS_AT_ONCE):
            if identity not in there and identity not in taken:
                return identity
        first += _IDS_AT_ONCE
