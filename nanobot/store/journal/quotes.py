"""The label of messages that quote an answer of the assistant."""

from __future__ import annotations

import msgspec
import sqlalchemy as sa

from nanobot import labels
from nanobot.labels import NOTHING, UNKNOWN, Label
from nanobot.messages import InboundMessage, OutboundMessage
from nanobot.store.database import message_tables as schema
from nanobot.store.database.connection import Connection

_o = schema.outbound
_p = schema.outbound_parts
_decoder = msgspec.json.Decoder(OutboundMessage)
_QUOTABLE = 2_000
"""Quotes are looked up among this many messages, the latest of all chats."""


def quoted(connection: Connection, message: InboundMessage) -> Label:
    """The label of the answer that a message quotes, if it is one of the latest here."""
    if not message.quote or not message.reply_to:
        return NOTHING
    newest = sa.select(sa.func.max(_o.c.id)).scalar_subquery()
    query = (
        sa.select(_o.c.body)
        .join(_p, _p.c.outbound_id == _o.c.id)
        .where(_o.c.id > newest - _QUOTABLE, schema.OUTBOUND_FOR_CHAT)
        .where(_o.c.channel == message.address.channel, _o.c.chat_id == message.address.chat_id)
        .where(_p.c.receipt == message.reply_to)
    )
    body = connection.scalar(query.limit(1))
    if body is None:
        return NOTHING
    try:
        answer = _decoder.decode(body)
    except msgspec.DecodeError:  # its content is unknown
        return UNKNOWN
    label = labels.read(answer.label, tainted=answer.tainted)
    return label if label.tainted else NOTHING
