"""The outbox as people see it, and the changes that they can make."""

from __future__ import annotations

import msgspec
import sqlalchemy as sa

from nanobot.messages import TERMINAL, Address, OutboundKind, OutboundMessage
from nanobot.session.outbox import OutboundRow
from nanobot.store.database import schema
from nanobot.store.journal import outbox
from nanobot.store.unit import StoreContext

_s = schema.sessions
_e = schema.entries
_o = schema.outbound
_p = schema.outbound_parts

_READ_SO_FAR = sa.select(_s.c.head_seq, _s.c.updated_at, _s.c.last_read_at).where(
    _s.c.key == sa.bindparam("k")
)
_SAID_AT = sa.select(_e.c.at).where(
    _e.c.session_key == sa.bindparam("k"), _e.c.seq == sa.bindparam("n")
)
_LATELY = 10_000
"""The number of messages searched for a receipt that has no index."""

_INDEXED = {
    "pending": schema.OUTBOUND_OPEN,
    "sending": schema.OUTBOUND_OPEN,
    "held": schema.OUTBOUND_HELD,
    "dead": schema.OUTBOUND_DEAD,
}
"""States with few messages: queries read these directly, and not all messages."""


def listing(
    connection: sa.Connection,
    state: str | None,
    limit: int,
    identity: int | None = None,
    before: int | None = None,
) -> list[OutboundRow]:
    """Messages by id, or by state (None: all except those that no chat is to receive), the newest
    first, or those older than `before`.
    """
    query = sa.select(*outbox.COLUMNS).order_by(_o.c.id.desc()).limit(limit)
    if identity is not None:
        query = query.where(_o.c.id == identity)
    else:
        query = query.where(_o.c.state == state if state else _o.c.state != "direct")
        if state in _INDEXED:
            query = query.where(_INDEXED[state]).order_by(None).order_by((_o.c.id + 0).desc())
    if before is not None:
        query = query.where(_o.c.id < before)
    rows = connection.execute(query).all()
    return [outbox.with_parts(connection, row) for row in rows]


def arrived(connection: sa.Connection, channel: str, message_ids: tuple[str, ...]) -> list[str]:
    """Those that are parts of a recently sent message."""
    latest = sa.select(sa.func.max(_o.c.id)).scalar_subquery()
    query = (
        sa.select(_p.c.receipt)
        .join(_o, _o.c.id == _p.c.outbound_id)
        .where(
            _p.c.outbound_id > latest - _LATELY,
            _p.c.receipt.in_(message_ids),
            _o.c.channel == channel,
        )
    )
    return list(connection.scalars(query))


def retry(connection: sa.Connection, writer: StoreContext, number: int) -> Address | None:
    """Make a dead message unsent again, with its full delivery time. Returns its chat, or None if
    it is not dead.
    """
    again = sa.update(_o).where(_o.c.id == number, _o.c.state == "dead")
    fresh = {"state": "pending", "not_before": 0, "settled_at": None}
    moved = connection.execute(again.values(**fresh, created_at=writer.clock.now()))
    if moved.rowcount == 0:
        return None
    stuck = sa.update(_p).where(_p.c.outbound_id == number, _p.c.state == "sending")
    connection.execute(stuck.values(state="pending"))
    (row,) = listing(connection, None, 1, number)
    return row.message.address


def unshown(connection: sa.Connection, session_key: str) -> list[int]:
    """The messages that a session shows in a terminal as soon as one attaches, except questions."""
    waits = sa.select(_o.c.id, _o.c.body).where(
        schema.OUTBOUND_OPEN,
        _o.c.session_key == session_key,
        _o.c.channel == TERMINAL,
        _o.c.state == "pending",
    )
    messages = [
        (number, msgspec.json.decode(body, type=OutboundMessage))
        for number, body in connection.execute(waits)
    ]
    return [number for number, message in messages if message.kind is not OutboundKind.APPROVAL]


def drop(connection: sa.Connection, writer: StoreContext, number: int) -> bool:
    """Discard an unsent or dead message; returns False if it is neither."""
    gone = sa.update(_o).where(_o.c.id == number, _o.c.state.in_(("held", "pending", "dead")))
    now = writer.clock.now()
    return connection.execute(gone.values(state="dropped", settled_at=now)).rowcount == 1


def mark_read(
    connection: sa.Connection, writer: StoreContext, key: str, entry: int | None = None
) -> bool:
    session = connection.execute(_READ_SO_FAR, {"k": key}).first()
    if session is None:
        return False
    if entry is None or session.head_seq <= entry:
        for number in unshown(connection, key):
            drop(connection, writer, number)
        until = session.updated_at
    else:
        until = connection.scalar(_SAID_AT, {"k": key, "n": entry}) or 0.0
    if session.last_read_at is None or session.last_read_at < until:
        seen = sa.update(_s).where(_s.c.key == key).values(last_read_at=until)
        connection.execute(seen)
    return True
