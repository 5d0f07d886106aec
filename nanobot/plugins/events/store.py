"""Finds who reads a chat."""

from __future__ import annotations

import msgspec
import sqlalchemy as sa

from nanobot.messages import Address, InboundMessage, Role
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.verbs import SqlStore, transaction

_i = schema.inbound

_LAST = (
    sa.select(_i.c.role, _i.c.body)
    .where(
        schema.INBOUND_SPOKEN,
        _i.c.channel == sa.bindparam("c"),
        _i.c.chat_id == sa.bindparam("chat"),
    )
    .order_by(_i.c.id.desc())
    .limit(1)
)


class SqlChatReaders(SqlStore):
    """The readers of a chat, as far as the store knows."""

    @transaction()
    def alone(self, connection: Connection, address: Address) -> bool:
        """Whether the last speaker is an owner and the chat has no other readers."""
        chat = {"c": address.channel, "chat": address.chat_id}
        row = connection.execute(_LAST, chat).first()
        if row is None or row.role != Role.OWNER:
            return False
        return not msgspec.json.decode(row.body, type=InboundMessage).group
