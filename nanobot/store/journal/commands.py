"""Commands that take longer than their admission: begun, and later answered once."""

from __future__ import annotations

import msgspec
import sqlalchemy as sa

from nanobot.messages import InboundMessage, OutboundMessage
from nanobot.session.inbox import BegunCommand
from nanobot.store.database import message_tables as schema
from nanobot.store.journal import outbox
from nanobot.store.unit import StoreContext

_i = schema.inbound
_message = msgspec.json.Decoder(InboundMessage)


def begun_commands(connection: sa.Connection, channel: str) -> list[BegunCommand]:
    query = sa.select(_i.c.id, _i.c.body).where(
        schema.INBOUND_OPEN,
        _i.c.state == "performing",
        # Concatenated with nothing, or SQLite would read all messages that ever came from there.
        _i.c.channel.concat("") == channel,
    )
    rows = connection.execute(query.order_by(_i.c.id + 0)).all()  # uses the index of open ones
    return [BegunCommand(row.id, _message.decode(row.body)) for row in rows]


def performed(
    connection: sa.Connection,
    writer: StoreContext,
    inbound_id: int,
    answer: OutboundMessage | None,
) -> bool:
    """See Journal.performed."""
    settled = connection.execute(
        sa.update(_i)
        .where(_i.c.id == inbound_id, _i.c.state == "performing")
        .values(state="settled")
        .returning(_i.c.session_key)
    ).first()
    if settled is None:
        return False
    if answer is not None:
        outbox.owe(connection, writer, settled.session_key, "", [answer])
    return True
