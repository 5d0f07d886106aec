"""The heartbeat's view of chats: the senders, the active runs, the latest messages."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import sqlalchemy as sa

from nanobot import labels
from nanobot.messages import Address, InboundMessage, OutboundKind, OutboundMessage
from nanobot.plugins.common.store import job_tables
from nanobot.plugins.common.views.digests import DIGEST
from nanobot.plugins.heartbeat.heartbeat import (
    GREETINGS,
    NAME,
    SAID_CHARS,
    ChatSituation,
    RecentMessage,
)
from nanobot.session import keys
from nanobot.session.states import RunState
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.database.database import Database
from nanobot.store.unit import StoreContext, Unit
from nanobot.store.verbs import SqlStore, transaction

_i = schema.inbound
_o = schema.outbound
_j = job_tables.jobs
_occurrences = job_tables.occurrences
_r = schema.runs

_LOOKED_AT = 500
"""Messages searched for one that was written in a chat without other readers."""
_GONE_SECONDS = 86_400.0
"""After this time, an unreachable chat is tried again."""
_SPOKEN = (OutboundKind.REPLY, OutboundKind.POST)
_THERE = ("sent", "sending", "pending", "held", "digested")

_SPOKEN_BY_OWNERS = (
    sa.select(_i.c.id, _i.c.body)
    .where(schema.INBOUND_OWNERS, _i.c.channel == sa.bindparam("c"))
    .order_by(_i.c.id.desc())
    .limit(_LOOKED_AT)
)


class SqlChatHistory(SqlStore):
    """See heartbeat.ChatHistory. `channels` are the connected ones, in groups, preferred ones
    first.
    """

    def __init__(
        self, database: Database, writer: StoreContext, channels: Sequence[Sequence[str]]
    ) -> None:
        super().__init__(database, writer)
        self._channels = channels

    @transaction()
    def home(self, connection: Connection) -> Address | None:
        chats = (_home(connection, group) for group in self._channels)
        return next((address for address in chats if address is not None), None)

    @transaction()
    def around(self, unit: Unit, address: Address, count: int) -> ChatSituation:
        now, chat = unit.now, {"c": address.channel, "chat": address.chat_id}
        spoke = unit.execute(_SPOKE, chat).first()
        owed = unit.execute(_OWED, chat).first()
        recent = _spoken(unit, chat, count)
        heard_at = 0.0 if spoke is None else spoke.at
        gone = ""
        if owed is not None and owed.state == "dead" and heard_at < owed.settled_at:
            gone = owed.error if now - owed.settled_at < _GONE_SECONDS else ""
        return ChatSituation(
            session_key=str(address) if spoke is None else spoke.session_key,
            person="" if spoke is None else keys.person(address.channel, spoke.sender_id),
            spoke_at=None if spoke is None else spoke.at,
            active=_active(unit, chat, now),
            said=tuple(RecentMessage(text=_clipped(message.text), at=at) for at, message in recent),
            label=labels.joined(labels.read(m.label, tainted=m.tainted) for _, m in recent),
            gone=gone or "",
        )

    @transaction()
    def greeted(self, connection: Connection, person: str) -> float | None:
        begin = f"{NAME}:{GREETINGS.of(person)}:"
        heartbeat = sa.select(_j.c.id).where(_j.c.name == NAME, _j.c.state == "system")
        query = sa.select(sa.func.max(_occurrences.c.fired_at)).where(
            _occurrences.c.job_id.in_(heartbeat),
            _occurrences.c.call_key.startswith(begin, autoescape=True),
        )
        at: float | None = connection.scalar(query)
        return at

    @transaction()
    def busy(self, connection: Connection, session_key: str) -> bool:
        waits = sa.select(_i.c.id).where(_i.c.session_key == session_key, schema.INBOUND_OPEN)
        runs = sa.select(_r.c.id).where(_r.c.session_key == session_key, schema.RUN_LIVE)
        return any(connection.execute(query.limit(1)).first() for query in (waits, runs))


def _home(connection: Connection, channels: Sequence[str]) -> Address | None:
    latest: dict[int, Address] = {}
    for channel in channels:
        for identity, body in connection.execute(_SPOKEN_BY_OWNERS, {"c": channel}):
            message = msgspec.json.decode(body, type=InboundMessage)
            if not message.group:
                latest[identity] = message.address
                break
    return latest[max(latest)] if latest else None


def _in(table: sa.Table) -> sa.ColumnElement[bool]:
    return sa.and_(table.c.channel == sa.bindparam("c"), table.c.chat_id == sa.bindparam("chat"))


def _active(connection: Connection, chat: dict[str, str], now: float) -> float | None:
    """When a run last worked; a run that waits for a person does not count. Neither does a
    heartbeat.
    """
    if connection.execute(_AT_WORK, chat).first() is not None:
        return now
    ended_at: float | None = connection.scalar(_ENDED, chat)
    return ended_at


def _spoken(
    connection: Connection, chat: dict[str, str], most: int
) -> list[tuple[float, OutboundMessage]]:
    """The assistant's messages, oldest first."""
    rows = connection.execute(_MESSAGES, {**chat, "n": 3 * most})
    messages = [(at, msgspec.json.decode(body, type=OutboundMessage)) for at, body in rows]
    spoken = [
        (at, message)
        for at, message in messages
        if message.kind in _SPOKEN and message.text.strip()
    ]
    return spoken[:most][::-1]


_SPOKE = (
    sa.select(_i.c.session_key, _i.c.sender_id, _i.c.at)
    .where(schema.INBOUND_SPOKEN, _in(_i))
    .order_by(_i.c.id.desc())
    .limit(1)
)
_OWED = (
    sa.select(_o.c.state, _o.c.error, _o.c.settled_at)
    .where(schema.OUTBOUND_FOR_CHAT, _in(_o))
    .order_by(_o.c.id.desc())
    .limit(1)
)
_MESSAGES = (
    sa.select(_o.c.created_at, _o.c.body)
    .where(
        schema.OUTBOUND_FOR_CHAT,
        _in(_o),
        _o.c.state.in_(_THERE),
        ~_o.c.key.startswith(DIGEST),
    )
    .order_by(_o.c.id.desc())
    .limit(sa.bindparam("n"))
)
_AT_WORK = (
    sa.select(_r.c.id)
    .where(
        schema.RUN_LIVE,
        _in(_r),
        _r.c.session_key != NAME,
        _r.c.state != RunState.AWAITING_HUMAN.value,
    )
    .limit(1)
)
_ENDED = (
    sa.select(_r.c.ended_at)
    .where(schema.RUN_OF_PERSON, _in(_r), _r.c.ended_at.is_not(None))
    .order_by(_r.c.id.desc())
    .limit(1)
)


def _clipped(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= SAID_CHARS else f"{plain[:SAID_CHARS]}..."
