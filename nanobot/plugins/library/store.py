"""What a program takes out of a store itself: messages instead of runs, answers instead of
deliveries."""

from __future__ import annotations

import msgspec
import sqlalchemy as sa

from nanobot.messages import InboundMessage
from nanobot.session.outbox import OutboundRow
from nanobot.session.runs import Lane
from nanobot.store.database import message_tables as schema
from nanobot.store.database.connection import Connection
from nanobot.store.held_lanes import Hold
from nanobot.store.journal import lanes, log, outbox, runs
from nanobot.store.unit import Unit
from nanobot.store.verbs import SqlStore, verb

_i, _o = schema.inbound, schema.outbound
_decoder = msgspec.json.Decoder(InboundMessage)


class Consumed(msgspec.Struct, frozen=True):
    """A message that a program answers itself. Its lane is held until then."""

    inbound_id: int
    lane: Lane
    message: InboundMessage


def take_inbound(unit: Unit, hold: Hold, done: Consumed | None) -> Consumed | None:
    """See Consuming."""
    hold.release()  # as in `claim`
    if done is not None:
        log.fence(unit, done.lane)
        unit.execute(sa.update(_i).where(_i.c.id == done.inbound_id).values(state="settled"))
        lanes.free(unit, done.lane)
    due = (_i.c.state == "pending", _i.c.not_before <= unit.now)
    query = (
        sa.select(_i.c.session_key, sa.func.min(_i.c.id))
        .where(schema.INBOUND_OPEN, *due)
        .group_by(_i.c.session_key)
        .order_by(sa.func.min(_i.c.id))
    )
    bodies = sa.select(_i.c.body)
    for key, identity in unit.execute(query).all():
        lane = _own(unit, hold, key)
        if lane is not None:
            body = unit.execute(bodies.where(_i.c.id == identity)).scalar_one()
            return Consumed(identity, lane, _decoder.decode(body))
    return None


def _own(unit: Unit, hold: Hold, key: str) -> Lane | None:
    """Hold a lane without a run; None if it is held or has a live run."""
    session = lanes.lock(unit, key)
    now = lanes.now_of(unit, session)
    if lanes.in_use(unit, key, session, now):
        return None
    if runs.live(unit, key) is not None:
        return None
    lane = Lane(key, session.token + 1)
    lanes.own(unit, hold, lane, now)
    return lane


def oldest_owed(connection: Connection) -> OutboundRow | None:
    """The oldest unsent message of all chats, with its parts."""
    # By id + 0, to use the index of open ones instead of reading all messages ever stored.
    query = sa.select(*outbox.COLUMNS).where(schema.OUTBOUND_OPEN).order_by(_o.c.id + 0).limit(1)
    row = connection.execute(query).first()
    return None if row is None else outbox.with_parts(connection, row)


class Consuming(SqlStore):
    """The verbs of one consumer of a store."""

    oldest_owed = verb(oldest_owed)
    _take_inbound = verb(take_inbound, "take_inbound")

    async def take_inbound(self, done: Consumed | None) -> Consumed | None:
        """Settle the message taken before, and take the oldest free one without a run. Its lane is
        held until it is settled. If the process dies, the message becomes free again."""
        held = self.writer.held
        with held.taking() as hold:
            taken = await self._take_inbound(hold, done)
        if done is not None:
            held.let_go(done.lane)
        return taken
