"""The lease of a chat: which of the processes that share a bot sends to it, and until when.

It is a row among the leases of channels. Each verb of a delivery renews it in its transaction and
fails without it, so a process that lost a chat writes nothing about its messages.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Sequence
from functools import cache

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from nanobot.errors import Fenced
from nanobot.messages import Address
from nanobot.plugins.common.store import lease_tables
from nanobot.plugins.postgres.store.lease_terms import CHAT
from nanobot.store.database.connection import Connection
from nanobot.store.database.dialect import SERVER_CLOCK
from nanobot.store.database.prepared import Prepared
from nanobot.store.unit import ChatClaims

PREFIX = "(chat) "

_l = lease_tables.channel_leases
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
    row = postgresql.insert(_l)
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


class SqlChatClaims(ChatClaims):
    """See store.unit.ChatClaims. `owner`: the name of this process's leases."""

    def __init__(self, owner: str) -> None:
        self._owner = owner
        self._taken: set[str] = set()

    def take(
        self, connection: Connection, address: Address, *, helping: bool
    ) -> Callable[[], str | None]:
        """Take a free chat; with `helping`, only if the process that receives for the channel
        shares it. The returned function, called after the queries ran, gives the other holder ("":
        unknown), or None if this process has the chat."""
        name = name_of(address)
        if helping:
            alone = _ALONE.execute(
                connection, c=address.channel, o=self._owner, s=shared_name(address.channel)
            )
            if alone.first() is not None:
                return lambda: ""
        taken = _take().execute(connection, k=name, o=self._owner)
        holder = _HOLDER.execute(connection, k=name)

        def outcome() -> str | None:
            if taken.first() is None:
                return str(holder.scalar() or "")
            self._taken.add(name)
            return None

        return outcome

    def fence(self, connection: Connection, address: Address) -> None:
        name = name_of(address)
        if name in self._taken:
            refusal = Fenced(f"another process speaks to {address}")
            _FENCE.change_one(connection, refusal, k=name, o=self._owner)

    def renewed(self, connection: Connection, address: Address) -> Callable[[], bool]:
        name = name_of(address)
        if name not in self._taken:
            return lambda: True
        renewal = _RENEW.execute(connection, k=name, o=self._owner)
        return lambda: renewal.rowcount == 1

    def renew(self, connection: Connection, addresses: Sequence[Address]) -> list[Address]:
        """Renew the claims; returns the chats that this process still has."""
        by_name = {name_of(address): address for address in addresses}
        ours = sa.update(_l).where(_l.c.channel.in_(by_name), _l.c.owner == self._owner)
        rows = connection.scalars(ours.values(until=_UNTIL).returning(_l.c.channel)).all()
        return [by_name[name] for name in rows]

    def leave(self, connection: Connection, addresses: Sequence[Address]) -> None:
        """Release these chats."""
        names = [name_of(address) for address in addresses]
        ours = sa.delete(_l).where(_l.c.channel.in_(names), _l.c.owner == self._owner)
        connection.execute(ours)
        self._taken.difference_update(names)

    def others(self, connection: Connection, addresses: Sequence[Address]) -> Collection[Address]:
        by_name = {name_of(address): address for address in addresses}
        if not by_name:
            return ()
        held = sa.select(_l.c.channel).where(
            _l.c.channel.in_(by_name), _l.c.owner != self._owner, ~_OVER
        )
        return {by_name[name] for name in connection.scalars(held)}
