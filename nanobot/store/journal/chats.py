"""The state of chats on their platform: their current id, and whether the platform refuses them."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.messages import Address
from nanobot.store.database import message_tables as schema
from nanobot.store.database.connection import Connection
from nanobot.store.database.dialect import insert_ignore
from nanobot.store.database.prepared import Prepared
from nanobot.store.unit import Unit

_m = schema.moved_chats
_u = schema.unreachable_chats

_OF = (_u.c.channel == sa.bindparam("c"), _u.c.chat_id == sa.bindparam("chat"))
_REACHED = Prepared(sa.delete(_u).where(*_OF))
REFUSAL = Prepared(sa.select(_u.c.reason).where(*_OF))


def moves(connection: Connection, channel: str) -> list[tuple[str, str]]:
    query = sa.select(_m.c.platform_id, _m.c.chat_id).where(_m.c.channel == channel)
    return [(row.platform_id, row.chat_id) for row in connection.execute(query.order_by(_m.c.id))]


def move(connection: Connection, channel: str, old: str, new: str) -> bool:
    here = sa.select(_m.c.chat_id).where(_m.c.channel == channel, _m.c.platform_id == old)
    chat_id = connection.scalar(here) or old
    if chat_id == new:
        return False
    values = {"channel": channel, "platform_id": new, "chat_id": chat_id}
    return insert_ignore(connection, _m, values, _m.c.id) is not None


def refused(unit: Unit, address: Address, why: str) -> None:
    """The platform refuses this chat, so jobs that would send to it are not worth paying for."""
    reached(unit, address)
    values = {"channel": address.channel, "chat_id": address.chat_id, "reason": why}
    unit.execute(sa.insert(_u).values(**values, at=unit.now))


def reached(connection: Connection, address: Address) -> None:
    """A message came from the chat: it is no longer refused."""
    _REACHED.execute(connection, c=address.channel, chat=address.chat_id)


def unreachable(connection: Connection, address: Address) -> str | None:
    """Why the platform refuses a chat; None if it does not, as far as is known."""
    reason: str | None = REFUSAL.scalar(connection, c=address.channel, chat=address.chat_id)
    return reason
