"""The lease of a channel: which of the processes that share a store serves it, and until when."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.plugins.common.store import lease_tables
from nanobot.plugins.postgres.store.chat_claims import shared_name
from nanobot.plugins.postgres.store.lease_terms import CHANNEL
from nanobot.store.database.connection import Connection
from nanobot.store.database.dialect import insert_ignore, insert_or_set
from nanobot.store.unit import Unit, store_now

_l = lease_tables.channel_leases


def hold(unit: Unit, channel: str, *, shares: bool = False) -> bool:
    """See beats.Leases."""
    if unit.writer.lease is None:
        return True
    now = store_now(unit)
    held = _hold(
        unit, unit.writer.owner, channel, (now, now + min(unit.writer.lease, CHANNEL.seconds))
    )
    if held and shares:
        name = shared_name(channel)
        insert_or_set(
            unit, _l, ("owner",), {"channel": name, "owner": unit.writer.owner, "until": 0}
        )
    return held


def _hold(
    connection: Connection, owner: str, channel: str, from_until: tuple[float, float]
) -> bool:
    now, until = from_until
    insert_ignore(connection, _l, {"channel": channel, "until": 0.0})
    free = sa.or_(_l.c.until < now, _l.c.until > now + 2 * CHANNEL.seconds)  # clock set back
    mine = sa.or_(_l.c.owner == owner, free)
    taken = sa.update(_l).where(_l.c.channel == channel, mine)
    return connection.execute(taken.values(owner=owner, until=until)).rowcount == 1


def free_all(connection: Connection, identity: str) -> None:
    """Release everything held under that identity by an earlier process."""
    connection.execute(sa.delete(_l).where(_l.c.owner.startswith(identity, autoescape=True)))


def leave(unit: Unit, channel: str) -> None:
    """See beats.Leases."""
    names = (channel, shared_name(channel))
    unit.execute(sa.delete(_l).where(_l.c.channel.in_(names), _l.c.owner == unit.writer.owner))
