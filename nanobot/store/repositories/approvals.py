"""What people were asked, and what was allowed for good."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.messages import Address
from nanobot.session.approvals import OPEN, Approval, RuleView
from nanobot.session.keys import APPROVALS
from nanobot.store.database import schema
from nanobot.store.journal.approvals import as_approval

_a = schema.approvals
_u = schema.approval_rules
_o = schema.outbound
_p = schema.outbound_parts
_LOOKED_AT = 1_000
_ROW = sa.select(_a.c.id, _a.c.state, _a.c.body)


def listing(connection: sa.Connection, *, session: str, state: str, limit: int) -> list[Approval]:
    query = _ROW.order_by(_a.c.id.desc()).limit(limit)
    if session:
        query = query.where(_a.c.session_key == session)
    if state in {"open", *OPEN}:
        query = query.where(schema.APPROVAL_OPEN).order_by(None).order_by((_a.c.id + 0).desc())
    if state:
        query = query.where(_a.c.state.in_(OPEN if state == "open" else (state,)))
    return [as_approval(row) for row in connection.execute(query)]


def one(connection: sa.Connection, number: int) -> Approval | None:
    row = connection.execute(_ROW.where(_a.c.id == number)).first()
    return None if row is None else as_approval(row)


def asked_by(connection: sa.Connection, chat: Address, message_id: str) -> Approval | None:
    opened = _ROW.where(schema.APPROVAL_OPEN).order_by((_a.c.id + 0).desc()).limit(_LOOKED_AT)
    asking = {
        APPROVALS.of(approval.id, to): approval
        for approval in map(as_approval, connection.execute(opened).all())
        for to in approval.asked_in
        if (to.channel, to.chat_id) == (chat.channel, chat.chat_id)
    }
    sent = sa.select(_o.c.key).join(_p, _p.c.outbound_id == _o.c.id)
    key = connection.scalar(sent.where(_o.c.key.in_(asking), _p.c.receipt == message_id))
    return asking.get(key or "")


def rules(connection: sa.Connection) -> list[RuleView]:
    rows = connection.execute(sa.select(_u).order_by(_u.c.id.desc())).mappings()
    return [RuleView(**row) for row in rows]


def forget(connection: sa.Connection, number: int) -> bool:
    return connection.execute(sa.delete(_u).where(_u.c.id == number)).rowcount == 1
