"""The heartbeat of a process over a shared store: one transaction renews its leases and reports
which other processes are alive.
"""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.plugins.common.store import lease_tables
from nanobot.plugins.postgres.store import lane_leases
from nanobot.plugins.postgres.store.beats import Beat, Held
from nanobot.plugins.postgres.store.chat_claims import PREFIX
from nanobot.plugins.postgres.store.identity import life_lock, name_of, process_name
from nanobot.plugins.postgres.store.lease_terms import CHANNEL
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.database.dialect import SERVER_CLOCK, insert_or_set, nothing_follows
from nanobot.store.database.prepared import Prepared
from nanobot.store.unit import Unit

_l, _s = lease_tables.channel_leases, schema.sessions
_NOW = SERVER_CLOCK.element
_UNTIL = _NOW + sa.bindparam("seconds", type_=sa.Double)
_KEPT_SECONDS = 60.0
"""How long expired leases of chats and processes are kept: their owners are dead."""

_IS_CHAT = sa.func.starts_with(_l.c.channel, PREFIX)
# A lease that records who shares its chats lasts as long as the lease of its channel: it has no
# expiry.
_RENEW = Prepared(
    sa.update(_l)
    .where(_l.c.owner == sa.bindparam("o"), _l.c.until > 0, ~_IS_CHAT)
    .values(until=_UNTIL)
)
_OVER = sa.or_(_l.c.until < _NOW - _KEPT_SECONDS, _l.c.until > _NOW + 3_600.0)
_CLEAN = Prepared(
    sa.delete(_l).where(
        _OVER, sa.or_(_IS_CHAT, sa.func.starts_with(_l.c.channel, process_name("")))
    )
)
_LEAVE = Prepared(
    sa.delete(_l).where(_l.c.channel == sa.bindparam("c"), _l.c.owner == sa.bindparam("o"))
)
_ALL = Prepared(
    sa.select(_l.c.channel, _l.c.owner, (_l.c.until - _NOW).label("left"))
    .where(_l.c.owner.is_not(None), _l.c.until > 0, ~_IS_CHAT)
    .order_by(_l.c.channel)
)
_CONNECTED = Prepared(
    sa.text(
        "SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks WHERE locktype = 'advisory' "
        "AND objsubid = 1 AND granted AND mode = 'ShareLock' AND database = "
        "(SELECT oid FROM pg_database WHERE datname = current_database())"
    )
)
_i, _o = schema.inbound, schema.outbound
_NEWEST_IN = Prepared(sa.select(sa.func.max(_i.c.id)).where(schema.INBOUND_OPEN))
_NEWEST_OUT = Prepared(sa.select(sa.func.max(_o.c.id)).where(schema.OUTBOUND_OPEN))
_ECHO = Prepared(sa.text("SELECT pg_notify(:c, :t)"))
# This lock cannot be acquired while its process is connected.
_IS_GONE = Prepared(sa.text("SELECT pg_try_advisory_xact_lock(:k)"))


def beat(unit: Unit, line: str = "") -> Beat:
    """`line`: the channel of notices that this process listens on, and on which this beat arrives;
    "" while it listens on none. Then other processes cannot see whether it is alive, and are not
    told.
    """
    if unit.writer.lease is None:
        return Beat(alone=True)
    own = process_name(name_of(unit.writer.owner))
    if line:
        # Renewed below.
        insert_or_set(
            unit, _l, ("owner",), {"channel": own, "owner": unit.writer.owner, "until": 1}
        )
        _ECHO.execute(unit, c=line, t="")
    else:
        _LEAVE.execute(unit, c=own, o=unit.writer.owner)
    _RENEW.execute(unit, o=unit.writer.owner, seconds=min(unit.writer.lease, CHANNEL.seconds))
    _CLEAN.execute(unit)
    rows, locks = _ALL.execute(unit), _CONNECTED.execute(unit)
    newest = _NEWEST_IN.execute(unit), _NEWEST_OUT.execute(unit)
    nothing_follows(unit)  # one round trip: a process at rest does little else
    connected = {int(number) for (number,) in locks}
    return Beat(
        frozenset(row.channel for row in rows if row.owner == unit.writer.owner),
        {
            row.channel: Held(row.owner, row.left, life_lock(name_of(row.owner)) in connected)
            for row in rows
            if row.owner != unit.writer.owner
        },
        (newest[0].scalar() or 0, newest[1].scalar() or 0),
    )


def free_dead(connection: Connection, owner: str) -> bool:
    """Release the leases of a disconnected process. Returns False if it has connected again."""
    if not _IS_GONE.scalar(connection, k=life_lock(name_of(owner))):
        return False
    lane_leases.free_all(connection, owner)
    connection.execute(sa.delete(_l).where(_l.c.owner == owner))
    return True
