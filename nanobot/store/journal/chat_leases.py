"""The lease of a chat: which of the processes that share a bot sends to it, and until when.

It is a row among the leases of channels. Each verb of a delivery renews it in its transaction and
fails without it, so a process that lost a chat writes nothing about its messages.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cache

import sqlalchemy as sa

from nanobot.errors import Fenced
from nanobot.messages import Address
from nanobot.session.lease import CHAT
from nanobot.store.database import message_tables as schema
from nanobot.store.database.dialect import SERVER_CLOCK, insert
from nanobot.store.database.prepared import Prepared
from nanobot.store.unit import StoreContext

PREFIX = "(chat) "

_l = schema.channel_leases
_sharer = _l.alias("sharer")
_NOW = SERVER_CLOCK.element
_UNTIL = _NOW + CHAT.seconds
_OVER = sa.or_(_l.c.until < _NOW, _l.c.until > _NOW + 2 * CHAT.seconds)  # or the clock was set back

_FENCE = Prepared(
    sa.update(_l)
    .where(_l.c.channel == sa.bindparam("k"), _l.c.owner == sa.bindparam("o"))
    .values(until=_UNTIL)
)
_RENEW = Prepared(_FENCE.statement)
_HOLDER = Prepared(sa.select(_l.c.owner).where(_l.c.channel == sa.bindparam("k")))
# Processes that receive for the channel and do not share it: an earlier build, or another kind of
# channel.
_ALONE = Prepared(
    sa.select(_l.c.owner).where(
        _l.c.channel == sa.bindparam("c"),
        _l.c.owner != sa.bindparam("o"),
        ~sa.exists().where(_sharer.c.channel == sa.bindparam("s"), _sharer.c.owner == _l.c.owner),
    )
)


@cache
def _take() -> Prepared:
    row = insert("postgresql", _l)
    free = sa.or_(_l.c.owner == row.excluded.owner, _l.c.owner.is_(None), _OVER)
    values = {"channel": sa.bindparam("k"), "owner": sa.bindparam("o"), "until": _UNTIL}
    taken = row.values(values).on_conflict_do_update(
        index_elements=[_l.c.channel],
        set_={"owner": row.excluded.owner, "until": row.excluded.until},
        where=free,
    )
    return Prepared(taken.returning(_l.c.owner))


def name_of(address: Address) -> str:
    """A chat's name among the leases, which does not reveal the chat."""
    chat = f"{address.channel}\0{address.chat_id}".encode()
    return f"{PREFIX}{hashlib.blake2b(chat, digest_size=16).hexdigest()}"


def shared_name(channel: str) -> str:
    """Held with the channel's lease by a process that lets others send to its chats."""
    return f"(shared) {channel}"


def try_to_take(
    connection: sa.Connection, writer: StoreContext, address: Address, *, helping: bool
) -> Callable[[], str | None]:
    """Take a free chat; with `helping`, only if the process that receives for its channel shares
    it. The returned function, called after the queries ran, gives the other holder ("": unknown),
    or None if this process has the lease."""
    name = name_of(address)
    if helping:
        alone = _ALONE.execute(
            connection, c=address.channel, o=writer.owner, s=shared_name(address.channel)
        )
        if alone.first() is not None:
            return lambda: ""
    taken = _take().execute(connection, k=name, o=writer.owner)
    holder = _HOLDER.execute(connection, k=name)

    def outcome() -> str | None:
        if taken.first() is None:
            return str(holder.scalar() or "")
        writer.chats.add(name)
        return None

    return outcome


def fence(connection: sa.Connection, writer: StoreContext, address: Address) -> None:
    """If chats need leases: renew this one and keep it until the transaction ends.
    Raises Fenced."""
    name = name_of(address)
    if name in writer.chats:
        refusal = Fenced(f"another process speaks to {address}")
        _FENCE.change_one(connection, refusal, k=name, o=writer.owner)


def renewed(
    connection: sa.Connection, writer: StoreContext, address: Address
) -> Callable[[], bool]:
    """Like `fence`, without raising: the returned function, called after the queries ran, tells
    whether this process still has the chat."""
    name = name_of(address)
    if name not in writer.chats:
        return lambda: True
    renewal = _RENEW.execute(connection, k=name, o=writer.owner)
    return lambda: renewal.rowcount == 1


def renew(
    connection: sa.Connection, writer: StoreContext, addresses: Sequence[Address]
) -> list[Address]:
    """Renew these leases; returns the chats that this process still has."""
    by_name = {name_of(address): address for address in addresses}
    ours = sa.update(_l).where(_l.c.channel.in_(by_name), _l.c.owner == writer.owner)
    rows = connection.scalars(ours.values(until=_UNTIL).returning(_l.c.channel)).all()
    return [by_name[name] for name in rows]


def leave(connection: sa.Connection, writer: StoreContext, addresses: Sequence[Address]) -> None:
    names = [name_of(address) for address in addresses]
    ours = sa.delete(_l).where(_l.c.channel.in_(names), _l.c.owner == writer.owner)
    connection.execute(ours)
    writer.chats.difference_update(names)


def others_speak(
    connection: sa.Connection, writer: StoreContext, addresses: Sequence[Address]
) -> list[Address]:
    """The chats among these that other processes hold."""
    by_name = {name_of(address): address for address in addresses}
    if writer.lease is None or not by_name:
        return []
    held = sa.select(_l.c.channel).where(
        _l.c.channel.in_(by_name), _l.c.owner != writer.owner, ~_OVER
    )
    return [by_name[name] for name in connection.scalars(held)]
