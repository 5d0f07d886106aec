"""The leases of lanes: renewed while their process drives them, and released after its death."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.store.database import message_tables as schema
from nanobot.store.database.connection import Connection
from nanobot.store.database.prepared import Prepared
from nanobot.store.unit import Unit, store_now

_s = schema.sessions

_RENEW = Prepared(
    sa.update(_s)
    .where(
        _s.c.key == sa.bindparam("k"),
        _s.c.token == sa.bindparam("t"),
        _s.c.owner == sa.bindparam("o"),
    )
    .values(lease_until=sa.bindparam("until"))
)


def free_all(connection: Connection, identity: str) -> None:
    """Free all lanes of that identity, and fence off its processes."""
    theirs = sa.update(_s).where(_s.c.owner.startswith(identity, autoescape=True))
    connection.execute(theirs.values(token=_s.c.token + 1, owner=None, lease_until=None))


def renew(unit: Unit) -> None:
    """Renew the lease of every lane that this process drives. The run of a lost lane gets Fenced at
    its next verb."""
    lanes = unit.writer.held.all()
    if unit.writer.lease is not None and lanes:
        until = store_now(unit) + unit.writer.lease
        each = [
            {"k": lane.session_key, "t": lane.token, "o": unit.writer.owner, "until": until}
            for lane in lanes
        ]
        _RENEW.many(unit, each)
    if unit.writer.lease is not None:
        unit.writer.ledger.fold(unit)
