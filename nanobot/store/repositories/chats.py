"""Chats as the heartbeat sees them: who spoke there, what goes on there, and what was said last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import sqlalchemy as sa

from nanobot.messages import Address, InboundMessage, Origin, OutboundKind, OutboundMessage, Role
from nanobot.session.states import RunState
from nanobot.store.database import schema
from nanobot.store.database.sqlite import Database
from nanobot.store.repositories.trigger_state import current_address
from nanobot.store.unit import StoreContext
from nanobot.triggers.heartbeat import NAME, SAID_CHARS, ChatSituation, RecentMessage
from nanobot.triggers.quiet import DIGEST

_i = schema.inbound
_o = schema.outbound
_occurrences = schema.occurrences
_r = schema.runs

_LOOKED_AT = 500
"""Messages that are looked through for one that was said where nobody else reads."""
_GONE_SECONDS = 86_400.0
"""After so long it is tried again whether a chat can be reached."""
_SPOKEN = (OutboundKind.REPLY, OutboundKind.POST)
_THERE = ("sent", "sending", "pending", "held", "digested")


class SqlChatHistory:
    """See triggers.heartbeat.ChatHistory. `channels` are those that are served, in groups, the
    ones that are preferred first."""

    def __init__(
        self, database: Database, writer: StoreContext, channels: Sequence[Sequence[str]]
    ) -> None:
        self._database = database
        self._writer = writer
        self._channels = channels

    async def home(self) -> Address | None:
        """The chat that an owner spoke in last."""

        def work(connection: sa.Connection) -> Address | None:
            found = (_home(connection, channels) for channels in self._channels)
            return next((address for address in found if address is not None), None)

        return await self._database.transact(work)

    async def around(self, address: Address, said: int) -> ChatSituation:
        """How things stand in a chat."""
        now = self._writer.clock.now()
        return await self._database.transact(lambda c: _around(c, address, said, now))

    async def greeted(self, person: str) -> float | None:
        """When that person was greeted last."""
        begin = f"{NAME}:greeting:{person}:"
        query = sa.select(sa.func.max(_occurrences.c.fired_at)).where(
            _occurrences.c.call_key.startswith(begin, autoescape=True)
        )
        return await self._database.transact(lambda c: c.scalar(query))

    async def busy(self, session_key: str) -> bool:
        """Whether something runs or waits there."""
        waits = sa.select(_i.c.id).where(_i.c.session_key == session_key, schema.INBOUND_OPEN)
        runs = sa.select(_r.c.id).where(_r.c.session_key == session_key, schema.RUN_LIVE)

        def work(connection: sa.Connection) -> bool:
            return any(connection.execute(one.limit(1)).first() for one in (waits, runs))

        return await self._database.transact(work)


def _home(connection: sa.Connection, channels: Sequence[str]) -> Address | None:
    spoken = (
        sa.select(_i.c.body)
        .where(_i.c.role == Role.OWNER, _i.c.origin == Origin.USER, _i.c.channel.in_(channels))
        .order_by(_i.c.id.desc())
        .limit(_LOOKED_AT)
    )
    for (body,) in connection.execute(spoken):
        message = msgspec.json.decode(body, type=InboundMessage)
        if not message.group:
            return message.address
    return None


def _around(connection: sa.Connection, address: Address, most: int, now: float) -> ChatSituation:
    address = current_address(connection, address)
    spoke = _last(connection, _i, address, _i.c.origin == Origin.USER)
    owed = _last(connection, _o, address, _o.c.state.not_in(("preview", "direct")))
    said = _said(connection, address, most)
    heard_at = 0.0 if spoke is None else spoke.at
    gone = ""
    if owed is not None and owed.state == "dead" and heard_at < owed.settled_at:
        gone = owed.error if now - owed.settled_at < _GONE_SECONDS else ""
    return ChatSituation(
        session_key=str(address) if spoke is None else spoke.session_key,
        person="" if spoke is None else f"{address.channel}:{spoke.sender_id}",
        spoke_at=None if spoke is None else spoke.at,
        active=_active(connection, address, now),
        said=tuple(RecentMessage(text=_clipped(one.text), at=at) for at, one in said),
        tainted=any(one.tainted for _, one in said),
        gone=gone or "",
    )


def _in(table: sa.Table, address: Address) -> sa.ColumnElement[bool]:
    return sa.and_(table.c.channel == address.channel, table.c.chat_id == address.chat_id)


def _last(
    connection: sa.Connection, table: sa.Table, address: Address, *where: sa.ColumnElement[bool]
) -> Any:
    query = sa.select(table).where(_in(table, address), *where)
    return connection.execute(query.order_by(table.c.id.desc()).limit(1)).first()


def _active(connection: sa.Connection, address: Address, now: float) -> float | None:
    """When a run was last at work; one that waits for a person is not. A heartbeat is none."""
    live = _in(_r, address) & (_r.c.session_key != NAME) & (_r.c.state != RunState.AWAITING_HUMAN)
    at_work = sa.select(_r.c.id).where(live, schema.RUN_LIVE).limit(1)
    if connection.execute(at_work).first() is not None:
        return now
    ended: float | None = connection.scalar(
        sa.select(_r.c.ended_at)
        .where(_in(_r, address), _r.c.origin == Origin.USER, _r.c.ended_at.is_not(None))
        .order_by(_r.c.id.desc())
        .limit(1)
    )
    return ended


def _said(
    connection: sa.Connection, address: Address, most: int
) -> list[tuple[float, OutboundMessage]]:
    """What the assistant said, the oldest first."""
    query = (
        sa.select(_o.c.created_at, _o.c.body)
        .where(_in(_o, address), _o.c.state.in_(_THERE), ~_o.c.key.startswith(DIGEST))
        .order_by(_o.c.id.desc())
        .limit(3 * most)
    )
    rows = [
        (at, msgspec.json.decode(body, type=OutboundMessage))
        for at, body in connection.execute(query)
    ]
    spoken = [(at, one) for at, one in rows if one.kind in _SPOKEN and one.text.strip()]
    return spoken[:most][::-1]


def _clipped(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= SAID_CHARS else f"{plain[:SAID_CHARS]}..."
