"""Proves that the log of a session is complete and unmodified."""

from __future__ import annotations

from typing import Any

import msgspec
import sqlalchemy as sa

from nanobot.errors import StoreCorrupt
from nanobot.session import entries as log
from nanobot.session.chain import GENESIS, ChainLink, link_hash, payload_digest
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.database.dialect import one_snapshot

_s = schema.sessions
_e = schema.entries

_HEAD_HASH = sa.select(_s.c.head_hash).where(_s.c.key == sa.bindparam("k"))
_ROWS = 5_000
_LOWEST = -(2**62)
_SOME = (
    sa.select(_e.c.seq, _e.c.run_id, _e.c.kind, _e.c.at, _e.c.salt, _e.c.payload)
    .add_columns(_e.c.digest, _e.c.hash)
    .where(_e.c.session_key == sa.bindparam("k"), _e.c.seq > sa.bindparam("after"))
    .order_by(_e.c.seq)
    .limit(sa.bindparam("n"))
    .execution_options(yield_per=500)  # a log may be larger than memory
)


class ChainState(msgspec.Struct, frozen=True):
    """How far a chain was verified. With `head`, a hash noted earlier, the check also proves that
    the log still contains the entry with that hash. `missing` are emptied entries that no `erased`
    entry mentions yet.
    """

    key: str
    head: bytes | None = None
    link: bytes = GENESIS
    count: int = 0
    missing: frozenset[int] = frozenset()
    contains_head: bool = False
    ended: bool = False


def verify(connection: Connection, key: str, head: bytes | None = None) -> int:
    """Verify the chain and return its length; raises StoreCorrupt, which names the first bad entry.

    With `head`, a hash noted earlier, it also proves that the log still contains the entry with
    that hash.
    """
    one_snapshot(connection)
    return verify_within(connection, key, head)


def verify_within(connection: Connection, key: str, head: bytes | None = None) -> int:
    """Like `verify`, in a transaction with one snapshot."""
    state = ChainState(key, head)
    while not state.ended:
        state = continued(connection, state, _ROWS)
    if head is not None and not state.contains_head:
        raise StoreCorrupt(f"the log of {key} does not contain the given head: its tail was cut")
    return state.count


def continued(connection: Connection, state: ChainState, rows: int) -> ChainState:
    """Verify up to this many further entries. At the end the chain is proven valid and complete.
    Raises StoreCorrupt, which names the first bad entry.
    """
    key, chain, count = state.key, state.link, state.count
    seen, missing = state.contains_head or state.head == chain, set(state.missing)
    read = 0
    with connection.execute(_SOME, {"k": key, "after": count or _LOWEST, "n": rows}) as found:
        for row in found:
            read, count = read + 1, count + 1
            chain = _following(chain, key, row)
            if row.seq != count or chain != row.hash:
                raise StoreCorrupt(f"the log of {key} is broken at entry {row.seq}")
            if row.payload is None:
                missing.add(row.seq)
            elif row.kind == "erased":
                missing = _untold(missing, row.payload)
            seen = seen or chain == state.head
    ended = read < rows
    if ended:
        if missing:
            raise StoreCorrupt(f"entry {min(missing)} of {key} was emptied without saying so")
        kept = connection.scalar(_HEAD_HASH, {"k": key})
        if chain != (GENESIS if kept is None else bytes(kept)):
            raise StoreCorrupt(f"the log of {key} was cut: its last entry is missing")
    return ChainState(key, state.head, chain, count, frozenset(missing), seen, ended)


def _following(chain: bytes, key: str, row: sa.Row[*tuple[Any, ...]]) -> bytes:
    """The chain extended by one row; its payload must be unmodified."""
    if row.payload is not None and payload_digest(row.salt or b"", row.payload) != row.digest:
        raise StoreCorrupt(f"entry {row.seq} of {key} was changed after it was written")
    link = ChainLink(
        session_key=key,
        seq=row.seq,
        run_id=row.run_id,
        kind=row.kind,
        at=row.at,
        digest=bytes(row.digest),
    )
    return link_hash(chain, link)


def _untold(missing: set[int], payload: bytes) -> set[int]:
    """The emptied entries that an `erased` entry does not mention, however many it mentions."""
    body = log.decode(payload)
    if not isinstance(body, log.ErasedEntry):
        return missing
    return {seq for seq in missing if not body.seq <= seq <= max(body.seq, body.last)}
