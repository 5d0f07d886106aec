"""The outbox as people see it, and the changes that they can make."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.messages import Address
from nanobot.plugins.common.views.outbox import Delivery, OutboxView
from nanobot.session import keys
from nanobot.session.outbox import OutboundRow
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.journal import outbox
from nanobot.store.unit import Unit
from nanobot.store.verbs import SqlStore, verb

_o = schema.outbound
_p = schema.outbound_parts

_PAGE = 250
"""Messages that a list reads in one transaction."""
_INDEXED = {
    "pending": schema.OUTBOUND_OPEN,
    "sending": schema.OUTBOUND_OPEN,
    "held": schema.OUTBOUND_HELD,
    "dead": schema.OUTBOUND_DEAD,
}
"""States with few messages: queries read these directly, and not all messages."""


def listing(
    connection: Connection,
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


def retry(unit: Unit, number: int) -> Address | None:
    """Make a dead message unsent again, with its full delivery time. Returns its chat, or None if
    it is not dead.
    """
    again = sa.update(_o).where(_o.c.id == number, _o.c.state == "dead")
    fresh = {"state": "pending", "not_before": 0, "settled_at": None}
    moved = unit.execute(again.values(**fresh, created_at=unit.now))
    if moved.rowcount == 0:
        return None
    stuck = sa.update(_p).where(_p.c.outbound_id == number, _p.c.state == "sending")
    unit.execute(stuck.values(state="pending"))
    (row,) = listing(unit, None, 1, number)
    return row.message.address


def drop(unit: Unit, number: int) -> bool:
    """Discard an unsent or dead message; returns False if it is neither."""
    gone = sa.update(_o).where(_o.c.id == number, _o.c.state.in_(("held", "pending", "dead")))
    now = unit.now
    return unit.execute(gone.values(state="dropped", settled_at=now)).rowcount == 1


def _some(connection: Connection, state: str, size: int, before: int | None) -> list[OutboxView]:
    return [_view(row) for row in listing(connection, state or None, size, before=before)]


def _one(connection: Connection, number: int) -> OutboxView | None:
    rows = listing(connection, None, 1, number)
    return _view(rows[0]) if rows else None


def _deliveries(connection: Connection, run_id: str) -> tuple[Delivery, ...]:
    query = sa.select(_o.c.channel, _o.c.state, _o.c.created_at, _o.c.settled_at)
    rows = connection.execute(query.where(_o.c.key == keys.answer(run_id))).all()
    return tuple(
        Delivery(channel=channel, state=state, created_at=created_at, settled_at=settled_at)
        for channel, state, created_at, settled_at in rows
        if state not in ("preview", "direct")
    )


def _view(row: OutboundRow) -> OutboxView:
    receipts = [part.receipt for part in row.parts if part.receipt is not None]
    return OutboxView(
        id=row.id,
        address=str(row.message.address),
        key=row.message.key,
        state=row.state,
        attempts=row.attempts,
        maybe_duplicate=row.maybe_duplicate,
        receipt=",".join(receipts) or None,
        kind=row.message.kind,
        text=row.message.text,
        error=row.error,
        session_key=row.session_key,
        run_id=row.run_id,
        created_at=row.created_at,
    )


class SqlOutbox(SqlStore):
    """The same code for SQLite and PostgreSQL. `deliveries`: the answer of a run on its way to its
    chat; empty if it has none."""

    one = verb(_one)
    deliveries = verb(_deliveries)
    retry = verb(retry, "retry")
    drop = verb(drop, "drop")
    _some = verb(_some)

    async def listed(self, *, state: str, limit: int) -> list[OutboxView]:
        """Messages in a state ("": in any), the newest first."""
        found: list[OutboxView] = []
        while len(found) < limit:
            size = min(limit - len(found), _PAGE)
            some = await self._some(state, size, found[-1].id if found else None)
            found += some
            if len(some) < size:
                break
        return found
