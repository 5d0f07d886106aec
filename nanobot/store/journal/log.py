"""Sessions and their entries: appending to the chain, reading by range."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import msgspec
import sqlalchemy as sa

from nanobot.errors import Fenced, RowUnreadable
from nanobot.session import entries as log
from nanobot.session.chain import GENESIS, ChainLink, link_hash, payload_digest
from nanobot.session.runs import Lane
from nanobot.store.database import message_tables as schema
from nanobot.store.database.connection import Connection
from nanobot.store.database.dialect import insert_ignore
from nanobot.store.database.prepared import Prepared, Stale
from nanobot.store.database.results import PreparedResult
from nanobot.store.held_lanes import Head
from nanobot.store.unit import Unit
from nanobot.text import title_of

_s = schema.sessions
_e = schema.entries

_NO_END = 2**62
_decode = msgspec.json.Decoder(log.Body).decode
# Each claim reads a whole window again. The same bytes are the same body, which never changes.
decode_short = lru_cache(maxsize=2_000)(_decode)
_SHORT = 2_000

# Locked: on PostgreSQL every writer locks the session's row first. So writers other than the driver
# (an order to stop, a post) and the driver wait for each other instead of conflicting.
HEAD = Prepared(
    sa.select(_s.c.head_seq, _s.c.head_hash, _s.c.token)
    .where(schema.THIS_SESSION)
    .with_for_update()
)
EXISTS = Prepared(sa.select(_s.c.key, _s.c.title).where(schema.THIS_SESSION))
_ADVANCE = Prepared(
    sa.update(_s)
    .where(
        schema.THIS_SESSION,
        _s.c.token == sa.bindparam("t"),
        _s.c.head_seq == sa.bindparam("was"),
        _s.c.head_hash == sa.bindparam("linked"),
    )
    .values(
        head_seq=sa.bindparam("seq"), head_hash=sa.bindparam("hash"), updated_at=sa.bindparam("now")
    )
)
_INSERT = Prepared(sa.insert(_e))
_RANGE = Prepared(
    sa.select(_e.c.seq, _e.c.run_id, _e.c.at, _e.c.payload)
    .where(
        _e.c.session_key == sa.bindparam("k"),
        _e.c.seq >= sa.bindparam("start"),
        _e.c.seq < sa.bindparam("end"),
    )
    .order_by(_e.c.seq)
)


def ensure_session(unit: Unit, key: str, text: str) -> None:
    """Create the session's row if it is missing; a new one is named after `text`."""
    if not exists(unit, key):
        now = unit.now
        values = {
            "key": key,
            "title": title_of(text),
            "created_at": now,
            "updated_at": now,
            "head_hash": GENESIS,
        }
        insert_ignore(unit, _s, values)


def exists(connection: Connection, key: str) -> bool:
    """Whether there is such a session."""
    return EXISTS.execute(connection, k=key).first() is not None


def fence(connection: Connection, lane: Lane, locked: PreparedResult | None = None) -> Any:
    """Lock and return the head of the lane's log (from HEAD's result, if it was executed already).
    Raises Fenced when the lane has another owner."""
    head = (locked or HEAD.execute(connection, k=lane.session_key)).first()
    if head is None or head.token != lane.token:
        raise _fenced(lane)
    return head


def _fenced(lane: Lane) -> Fenced:
    return Fenced(f"the lane of {lane.session_key} has another owner now")


def append(
    unit: Unit, lane: Lane, run_id: str, bodies: Sequence[log.Body], head: Any = None
) -> tuple[log.Entry, ...]:
    """Append to the session's chain (pass its `head` if known). Raises Fenced when the lane has
    another owner.

    Verbs that append nothing use it as a fence too. It comes first in a verb, so that all other
    writes happen under the session's lock.
    """
    head = head or unit.writer.held.head(lane) or fence(unit, lane)
    now = unit.now
    seq, chain = int(head.head_seq), bytes(head.head_hash)
    rows, entries = [], []
    for body in bodies:
        seq += 1
        payload, salt = log.encode(body), unit.writer.ids.salt()
        linked: dict[str, Any] = {
            "session_key": lane.session_key,
            "seq": seq,
            "run_id": run_id,
            "kind": log.kind_of(body),
            "at": now,
            "digest": payload_digest(salt, payload),
        }
        chain = link_hash(chain, ChainLink(**linked))
        rows.append({**linked, "salt": salt, "payload": payload, "hash": chain})
        entries.append(log.Entry(seq, run_id, now, body))
    _ADVANCE.change_one(
        unit,
        Stale(lambda: unit.writer.held.note(lane, None))
        if isinstance(head, Head)
        else _fenced(lane),
        k=lane.session_key,
        t=lane.token,
        was=head.head_seq,
        linked=head.head_hash,
        seq=seq,
        hash=chain,
        now=now,
    )
    if rows:
        _INSERT.many(unit, rows)
    if unit.writer.lease is not None:
        unit.writer.held.note(lane, Head(seq, chain))
    return tuple(entries)


def lane_of(connection: Connection, key: str) -> Lane:
    """Lock the lane for this transaction and return it, for writers that are not its owner."""
    head = HEAD.execute(connection, k=key).first()
    if head is None:
        raise Fenced(f"there is no session {key}")
    return Lane(key, int(head.token))


def read(connection: Connection, key: str, start: int, end: int = _NO_END) -> tuple[log.Entry, ...]:
    """The entries from `start` up to, but without, `end`; erased ones with body None. Raises
    RowUnreadable."""
    rows = _RANGE.execute(connection, k=key, start=start, end=end).all()
    try:
        bodies = [
            None if data is None else (decode_short if len(data) < _SHORT else _decode)(data)
            for _, _, _, data in rows
        ]
    except (msgspec.DecodeError, TypeError, ValueError, RecursionError):
        bodies = [body_of(key, seq, payload) for seq, _, _, payload in rows]  # says which one
    return tuple(
        [
            log.Entry(seq, run_id, at, body)
            for (seq, run_id, at, _), body in zip(rows, bodies, strict=True)
        ]
    )


def body_of(key: str, seq: int, payload: bytes | None) -> log.Body | None:
    """The body of an entry; None if erased. Raises RowUnreadable, which names the entry."""
    return None if payload is None else read_body(key, seq, payload)


def read_body(key: str, seq: int, payload: bytes) -> log.Body:
    """The body of an entry that is not erased. Raises RowUnreadable, which names the entry."""
    try:
        return log.decode(payload)
    except RowUnreadable as error:
        message = f"entry {seq} of {key} cannot be read: {error}"
        raise RowUnreadable(message, "entries", (key, seq)) from error
