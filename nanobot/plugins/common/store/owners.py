"""The private chats of owners, where they are asked and told."""

from __future__ import annotations

from typing import Any

import msgspec
import sqlalchemy as sa

from nanobot.messages import Address, InboundMessage, Origin, Role
from nanobot.plugins.common.store import access_tables
from nanobot.store.database import message_tables as schema
from nanobot.store.unit import Unit

_i, _p = schema.inbound, access_tables.pairings
_MOST_ASKED, _LOOKED_AT, _RECENT = 3, 100, 10_000
_NEXT_CHANNEL = sa.select(sa.func.min(_i.c.channel)).where(
    schema.INBOUND_OWNERS, _i.c.channel > sa.bindparam("c")
)
_SPOKEN = (
    sa.select(_i.c.id, _i.c.body)
    .where(schema.INBOUND_OWNERS, _i.c.channel == sa.bindparam("c"))
    .order_by(_i.c.id.desc())
    .limit(_LOOKED_AT)
)
_LET_IN = sa.exists().where(
    _p.c.channel == _i.c.channel,
    _p.c.sender_id == _i.c.sender_id,
    _p.c.state == "approved",
    _p.c.role == Role.OWNER,
)


def chats_of_approvers(unit: Unit, approvers: tuple[str, ...] = ()) -> list[Address]:
    """Private chats with owners and with the people named; the latest first."""
    chats: dict[tuple[str, str], Address] = {}
    for body in _spoken_by_approvers(unit, approvers):
        spoken = msgspec.json.decode(body, type=InboundMessage)
        if not spoken.group:
            chats.setdefault((spoken.address.channel, spoken.sender.id), spoken.address)
    return list(dict.fromkeys(chats.values()))[:_MOST_ASKED]


def _spoken_by_approvers(unit: Unit, approvers: tuple[str, ...]) -> list[bytes]:
    """The last messages of owners and of the people named, the latest first."""
    rows: list[Any] = []
    channel = unit.scalar(_NEXT_CHANNEL, {"c": ""})
    while channel is not None:
        owners = unit.writer.owners.get(channel)
        spoken = _SPOKEN
        if owners is not None:
            listed = _i.c.sender_id.in_(owners.ids)
            spoken = spoken.where(listed | _LET_IN if owners.by_pairing else listed)
        rows += unit.execute(spoken, {"c": channel}).all()
        channel = unit.scalar(_NEXT_CHANNEL, {"c": channel})
    keys = [name.partition(":")[::2] for name in approvers]
    if keys:
        last = unit.scalar(sa.select(sa.func.max(_i.c.id))) or 0
        recent = sa.and_(_i.c.id > last - _RECENT, _i.c.origin == Origin.USER)
        named = sa.tuple_(_i.c.channel, _i.c.sender_id).in_(keys)
        theirs = sa.select(_i.c.id, _i.c.body).where(recent, named)
        rows += unit.execute(theirs.order_by(_i.c.id.desc()).limit(_LOOKED_AT)).all()
    return [body for _, body in sorted(rows, key=lambda row: -row[0])]
