"""The lease of a lane: which process may write a session's log, and until when."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

import sqlalchemy as sa

from nanobot.session.runs import Lane
from nanobot.store.database import message_tables as schema
from nanobot.store.database.connection import Connection
from nanobot.store.database.dialect import SERVER_CLOCK
from nanobot.store.database.prepared import Prepared
from nanobot.store.database.results import PreparedResult
from nanobot.store.held_lanes import Hold
from nanobot.store.unit import Unit

T = TypeVar("T")

_s = schema.sessions
_TRIES, _TRY_SECONDS = 5, 0.05

_lease = sa.select(
    _s.c.token,
    _s.c.owner,
    _s.c.lease_until,
    _s.c.window_from,
    _s.c.prompt,
    _s.c.prompt_variant,
    _s.c.model,
    _s.c.shared,
    _s.c.head_seq,
    _s.c.head_hash,
    SERVER_CLOCK,
).where(schema.THIS_SESSION)
_SESSION = Prepared(_lease)
_SESSION_LOCKED = Prepared(_lease.with_for_update())
_SESSION_AT_HAND = Prepared(_lease.with_for_update(skip_locked=True))
_OWN = Prepared(
    sa.update(_s)
    .where(schema.THIS_SESSION, _s.c.token == sa.bindparam("was"))
    .values(token=sa.bindparam("t"), owner=sa.bindparam("o"), lease_until=sa.bindparam("until"))
)
# The token increases here too, so that the previous driver can no longer write.
_FREE = Prepared(
    sa.update(_s)
    .where(schema.THIS_SESSION, _s.c.token == sa.bindparam("t"))
    .values(token=_s.c.token + 1, owner=None, lease_until=None)
)


def look(connection: Connection, key: str) -> Any:
    """The session's current lease and window; None when there is no such session."""
    return _SESSION.execute(connection, k=key).first()


def lock(connection: Connection, key: str) -> Any:
    """Like `look`, with the row locked for this transaction."""
    return _SESSION_LOCKED.execute(connection, k=key).first()


def ask_at_hand(connection: Connection, key: str) -> PreparedResult:
    """Ask for the row that `lock_at_hand` returns, once: none if another transaction locks it."""
    return _SESSION_AT_HAND.execute(connection, k=key)


def lock_at_hand(
    connection: Connection, key: str, read: Callable[[], T], tries: int = _TRIES
) -> tuple[Any, T]:
    """Like `lock`, with the result of `read` after it. None if another transaction keeps the lock
    longer than usual."""
    locked, behind = ask_at_hand(connection, key), read()
    row = locked.first()
    if row is not None or tries == 1 or look(connection, key) is None:
        return row, behind
    time.sleep(_TRY_SECONDS)
    return lock_at_hand(connection, key, read, tries - 1)


def now_of(unit: Unit, session: Any) -> float:
    """The current time by the clock of leases, as read with the session's row."""
    return unit.now if unit.writer.lease is None else float(session.now)


def in_use(unit: Unit, key: str, session: Any, now: float) -> bool:
    """Whether the lane is held. This process knows its own active drivers. Another process holds it
    until its lease expires; with the process lock not at all, because that process is dead."""
    writer = unit.writer
    if session.owner == writer.owner and not writer.held.has(key, session.token):
        return False
    if writer.lease is None:
        return bool(session.owner == writer.owner)
    left = (session.lease_until or 0.0) - now  # far more than a lease: the clock was set back
    return session.owner is not None and 0 < left <= 2 * writer.lease


def own(unit: Unit, hold: Hold, lane: Lane, now: float) -> None:
    """Make a locked lane ours. The new token fences off all others."""
    unit.writer.held.take(hold, lane)
    until = None if unit.writer.lease is None else now + unit.writer.lease
    lease = {"t": lane.token, "o": unit.writer.owner, "until": until}
    _OWN.execute(unit, {"k": lane.session_key, "was": lane.token - 1, **lease})


def take_from(connection: Connection, lane: Lane, was: int) -> None:
    """Make the lane free and fence off its holder."""
    _OWN.execute(connection, k=lane.session_key, was=was, t=lane.token, o=None, until=None)


def free(connection: Connection, lane: Lane) -> None:
    """Release the lane."""
    _FREE.execute(connection, k=lane.session_key, t=lane.token)
