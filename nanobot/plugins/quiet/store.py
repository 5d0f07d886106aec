"""Limits on unrequested messages, over SQL: messages are counted and held back in the transaction
that creates them.

A held-back message is an outbox row that is not sent. When the hold ends, a single message becomes
unsent again; several messages of a chat become one digest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
import sqlalchemy as sa

from nanobot import labels
from nanobot.messages import Address, InboundMessage, OutboundKind, OutboundMessage
from nanobot.plugins.common.store.slices import Slice
from nanobot.plugins.common.views.digests import DIGEST
from nanobot.plugins.quiet import tables
from nanobot.plugins.quiet.hours import DAY, HeldBack, NotificationLimit, QuietHours, digest
from nanobot.plugins.quiet.settings import QuietSettings
from nanobot.seam.works import Follow
from nanobot.session import keys
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.database.dialect import insert_ignore
from nanobot.store.database.prepared import Prepared
from nanobot.store.journal import outbox
from nanobot.store.unit import NotificationLimiter, StoreContext, Unit
from nanobot.system import Zone

_i = schema.inbound
_o = schema.outbound
_u = tables.notifications

_AT_ONCE = 200
"""Maximum messages of a chat in one digest; more of them make several digests."""

_HOLD = Prepared(sa.update(_o).where(_o.c.key == sa.bindparam("k")).values(state="held"))
_SPOKE = Prepared(
    sa.select(_i.c.sender_id, _i.c.body)
    .where(
        schema.INBOUND_SPOKEN,
        _i.c.channel == sa.bindparam("c"),
        _i.c.chat_id == sa.bindparam("chat"),
    )
    .order_by(_i.c.id.desc())
    .limit(1)
)
_WAITS = Prepared(
    sa.select(_o.c.id)
    .where(
        schema.OUTBOUND_HELD,
        _o.c.channel == sa.bindparam("c"),
        _o.c.chat_id == sa.bindparam("chat"),
    )
    .limit(1)
)
_HELD = Prepared(
    sa.select(_o.c.id, _o.c.session_key, _o.c.created_at, _o.c.body)
    .where(
        schema.OUTBOUND_HELD,
        _o.c.channel == sa.bindparam("c"),
        _o.c.chat_id == sa.bindparam("chat"),
    )
    .order_by(_o.c.id)
    .limit(_AT_ONCE)
    .with_for_update()
)
_NEXT_HELD = Prepared(
    sa.select(_o.c.channel, _o.c.chat_id)
    .where(
        schema.OUTBOUND_HELD,
        sa.tuple_(_o.c.channel, _o.c.chat_id) > sa.tuple_(sa.bindparam("c"), sa.bindparam("chat")),
    )
    .order_by(_o.c.channel, _o.c.chat_id)
    .limit(1)
)
_FORGET = Prepared(
    sa.delete(_u).where(
        _u.c.key.in_(sa.select(_u.c.key).where(_u.c.at < sa.bindparam("old")).limit(_AT_ONCE))
    )
)
_COUNT = sa.select(sa.func.count()).select_from(_u).where(_u.c.at <= sa.bindparam("now"))
_OF_CHAT = Prepared(
    _COUNT.where(
        _u.c.at > sa.bindparam("since"),
        _u.c.channel == sa.bindparam("c"),
        _u.c.chat_id == sa.bindparam("chat"),
    )
)
_OF_PERSON = Prepared(
    _COUNT.where(_u.c.at > sa.bindparam("since"), _u.c.person == sa.bindparam("p"))
)


class SqlNotificationLimiter(NotificationLimiter):
    """See store.unit.NotificationLimiter."""

    def __init__(self, quiet_hours: QuietHours) -> None:
        self._quiet_hours = quiet_hours

    def posted(self, unit: Unit, message: OutboundMessage) -> None:
        """Count the message, or hold it back. While messages are held back, further ones are held
        back too.
        """
        there = _chat(message.address)
        person = _person(unit, message.address)
        waits = _WAITS.execute(unit, there).first() is not None
        if waits or not self._may(unit, message.address, person):
            _HOLD.execute(unit, k=message.key)
        else:
            self._count(unit, message, person)

    def release(self, unit: Unit, after: Address | None) -> tuple[list[Address], Address | None]:
        """One message for each chat (and thread) that may receive one now."""
        now, slice_ = unit.now, Slice(unit.writer.clock)
        _FORGET.execute(unit, old=now - 2 * DAY)
        freed: list[Address] = []
        if self._quiet_hours.asleep(now):
            return freed, None
        place = {"c": "", "chat": ""} if after is None else _chat(after)
        while (row := _NEXT_HELD.execute(unit, place).first()) is not None:
            if not slice_.step():
                return freed, Address(place["c"], place["chat"])
            place = {"c": row.channel, "chat": row.chat_id}
            freed += self._released(unit, Address(row.channel, row.chat_id))
        return freed, None

    def _released(self, unit: Unit, chat: Address) -> list[Address]:
        """The threads of one chat that may receive a message now."""
        person = _person(unit, chat)
        if not self._may(unit, chat, person):
            return []
        held: dict[Address, list[Any]] = {}
        for row in _HELD.execute(unit, _chat(chat)).all():
            message = msgspec.json.decode(row.body, type=OutboundMessage)
            held.setdefault(message.address, []).append((row, message))
        freed = []
        for address, waiting in held.items():
            if self._may(unit, address, person):
                self._count(unit, self._freed(unit, waiting), person)
                freed.append(address)
        return freed

    def _freed(self, unit: Unit, waiting: Sequence[tuple[Any, OutboundMessage]]) -> OutboundMessage:
        """Release messages for sending; returns the messages to send."""
        now = unit.now
        ids = [row.id for row, _ in waiting]
        alone = len(ids) == 1
        values: dict[str, Any] = {"state": "digested", "settled_at": now}
        if alone:
            # Its age, which decides when it is discarded, counts from now on.
            values = {"state": "pending", "created_at": now}
        # One by one: every database limits the number of parameters of a statement.
        each = sa.update(_o).where(_o.c.id == sa.bindparam("i")).values(**values)
        unit.execute(each, [{"i": number} for number in ids])
        row, latest = waiting[-1]
        if alone:
            return latest
        held_back = [HeldBack(message.text, held.created_at) for held, message in waiting]
        label = labels.joined(labels.read(m.label, tainted=m.tainted) for _, m in waiting)
        text, own = digest(held_back, row.session_key, self._quiet_hours.zone)
        combined = OutboundMessage(
            address=latest.address,
            text=text,
            own=own,
            key=f"{DIGEST}{ids[0]}-{ids[-1]}",
            kind=OutboundKind.POST,
            attachments=tuple(file for _, message in waiting for file in message.attachments),
            tainted=label.tainted,
            label=label.encoded(),
        )
        outbox.owe(unit, row.session_key, "", [combined])
        return combined

    def _may(self, unit: Unit, address: Address, person: str) -> bool:
        """Whether one more message may be sent there now."""
        now = unit.now
        if self._quiet_hours.asleep(now):
            return False
        name = keys.chat(address)
        counted: list[tuple[Prepared, dict[str, str], Iterable[NotificationLimit]]] = [
            (_OF_CHAT, _chat(address), self._quiet_hours.chat(name))
        ]
        if person:
            counted.append((_OF_PERSON, {"p": person}, self._quiet_hours.person(person)))
        return all(
            (query.scalar(unit, **who, now=now, since=now - limit.seconds) or 0) < limit.most
            for query, who, limits in counted
            for limit in limits
        )

    def _count(self, unit: Unit, message: OutboundMessage, person: str) -> None:
        row = {
            "key": message.key,
            "channel": message.address.channel,
            "chat_id": message.address.chat_id,
            "person": person,
            "at": unit.now,
        }
        insert_ignore(unit, _u, row)


def hook(settings: QuietSettings, zone: Zone, follow: Follow) -> SqlNotificationLimiter:
    """The hook that holds messages back in the transactions that create them. It follows changes of
    the configuration.
    """
    quiet_hours = QuietHours(settings, zone)
    follow.add(quiet_hours.configure)
    return SqlNotificationLimiter(quiet_hours)


def limiter(quiet_hours: QuietHours) -> Callable[[StoreContext], SqlNotificationLimiter]:
    """The same with fixed hours."""
    return lambda _: SqlNotificationLimiter(quiet_hours)


def _chat(address: Address) -> dict[str, str]:
    return {"c": address.channel, "chat": address.chat_id}


def _person(connection: Connection, address: Address) -> str:
    """The only reader of the chat (CHANNEL:ID); "" if there are several, or nobody has written."""
    spoke = _SPOKE.execute(connection, _chat(address)).first()
    if spoke is None or msgspec.json.decode(spoke.body, type=InboundMessage).group:
        return ""
    return keys.person(address.channel, spoke.sender_id)
