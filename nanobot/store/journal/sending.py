"""An answer whose send begins in the transaction that creates it, if nothing stands in its way."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from nanobot.messages import OutboundMessage
from nanobot.ports import OutboundPart
from nanobot.session.outbox import OutboundRow
from nanobot.session.runs import Run
from nanobot.store.database import message_tables as schema
from nanobot.store.database.prepared import Prepared
from nanobot.store.database.results import PreparedResult
from nanobot.store.journal import outbox
from nanobot.store.unit import Unit

_o = schema.outbound
_p = schema.outbound_parts
_r = schema.runs

_ID = sa.select(_o.c.id).where(_o.c.key == sa.bindparam("of"))
_OF_CHAT = (_o.c.channel == sa.bindparam("c"), _o.c.chat_id == sa.bindparam("chat"))
_OPEN = sa.select(_o.c.id).where(*_OF_CHAT, schema.OUTBOUND_OPEN).limit(sa.literal_column("1"))
_BEFORE = Prepared(sa.union_all(sa.select(_OPEN.subquery().c.id), _ID))
_BY_KEY = Prepared(_ID)
_INSERT = Prepared(sa.insert(_o))
_LOCK = Prepared(sa.select(_r.c.id).where(_r.c.id == sa.bindparam("i")).with_for_update())
_PART = Prepared(sa.insert(_p).values(outbound_id=_ID.scalar_subquery()))


class Sending:
    """The intent to send a message. Its questions are asked at once, and answered together with
    those that follow: PostgreSQL then needs no further round trip for them."""

    def __init__(
        self, unit: Unit, run: Run, message: OutboundMessage, parts: Sequence[OutboundPart]
    ) -> None:
        self._unit = unit
        self._run = run
        self._message = message
        self._parts = parts
        self._leased = unit.writer.chats.renewed(unit, message.address)
        if unit.writer.lease is not None:  # a preview of the run is created under this lock
            _LOCK.execute(unit, i=run.id)
        address = message.address
        self._before = _BEFORE.execute(
            unit, c=address.channel, chat=address.chat_id, of=message.key
        )
        self._began = 0.0
        self._identity: PreparedResult | None = None

    def begin(self, messages: Sequence[OutboundMessage]) -> bool:
        """Create the message and record that its first part is about to be sent. False, without
        doing anything: these are not the intended message alone, or the chat has another one."""
        if tuple(messages) != (self._message,) or self._before.first() or not self._leased():
            return False
        unit, message, now = self._unit, self._message, self._unit.now
        row = outbox.values(message, self._run.session_key, self._run.id, now)
        _INSERT.execute(unit, {**row, "state": "sending", "attempts": 1})
        for part in outbox.part_values(0, self._parts, ("sending", now)):
            del part["outbound_id"]
            _PART.execute(unit, {**part, "of": message.key})
        self._began, self._identity = now, _BY_KEY.execute(unit, of=message.key)
        return True

    def row(self) -> OutboundRow | None:
        """The message as it was before its send began, if it has."""
        if self._identity is None:
            return None
        return OutboundRow(
            id=int(self._identity.scalar()),
            session_key=self._run.session_key,
            run_id=self._run.id,
            state="pending",
            message=self._message,
            attempts=0,
            not_before=0.0,
            maybe_duplicate=False,
            created_at=self._began,
        )
