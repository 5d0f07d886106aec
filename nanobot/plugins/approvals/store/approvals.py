"""The approvals of a store, and the calls that are always allowed."""

from __future__ import annotations

import msgspec
import sqlalchemy as sa

from nanobot.messages import Address
from nanobot.plugins.approvals.store import deciding
from nanobot.plugins.approvals.store.waiting import as_approval
from nanobot.plugins.common.approvals import RuleView
from nanobot.plugins.common.store import rule_tables
from nanobot.session.approvals import OPEN, Approval
from nanobot.session.keys import APPROVALS
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.verbs import SqlStore, verb

_a = schema.approvals
_u = rule_tables.approval_rules
_o = schema.outbound
_p = schema.outbound_parts
_AT_ONCE = 50
_RULES = 500
_ROW = sa.select(_a.c.id, _a.c.state, _a.c.body)


def listing(
    connection: Connection, session: str, state: str, limit: int, before: int | None
) -> tuple[list[Approval], int | None]:
    """A page of approvals, the newest first, before the given one (None: from the newest), and the
    last of them, None at the end.
    """
    most = min(limit, _AT_ONCE)
    query = _ROW.order_by(_a.c.id.desc()).limit(most)
    if before is not None:
        query = query.where(_a.c.id < before)
    if session:
        query = query.where(_a.c.session_key == session)
    if state in {"open", *OPEN}:
        query = query.where(schema.APPROVAL_OPEN).order_by(None).order_by((_a.c.id + 0).desc())
    if state:
        query = query.where(_a.c.state.in_(OPEN if state == "open" else (state,)))
    found = [as_approval(row) for row in connection.execute(query)]
    return found, found[-1].id if len(found) == most else None


def one(connection: Connection, number: int) -> Approval | None:
    """One of them."""
    row = connection.execute(_ROW.where(_a.c.id == number)).first()
    return None if row is None else as_approval(row)


def seen(connection: Connection, number: int, person: str) -> None:
    """The whole of a pending call was displayed to a person."""
    approval = one(connection, number)
    if approval is None or approval.state not in OPEN or person in approval.seen:
        return
    known = msgspec.structs.replace(approval, seen=(*approval.seen, person))
    where = (_a.c.id == number, schema.APPROVAL_OPEN)
    connection.execute(sa.update(_a).where(*where).values(body=msgspec.json.encode(known)))


def asked_by(
    connection: Connection, chat: Address, message_id: str, before: int | None
) -> tuple[Approval | None, int | None]:
    """The open approval that a message refers to, on a page before the given one (None: from the
    newest), and the last approval of that page, None at the end.
    """
    opened, following = listing(connection, "", "open", _AT_ONCE, before)
    asking = {
        APPROVALS.of(approval.id, to): approval
        for approval in opened
        for to in approval.asked_in
        if (to.channel, to.chat_id) == (chat.channel, chat.chat_id)
    }
    sent = sa.select(_o.c.key).join(_p, _p.c.outbound_id == _o.c.id)
    key = connection.scalar(sent.where(_o.c.key.in_(asking), _p.c.receipt == message_id))
    return asking.get(key or ""), following


def rules(connection: Connection, before: int | None) -> tuple[list[RuleView], int | None]:
    """A page of rules, the newest first, before the given one (None: from the newest), and the last
    of them, None at the end.
    """
    columns = (_u.c[name] for name in RuleView.__struct_fields__)
    query = sa.select(*columns).order_by(_u.c.id.desc()).limit(_RULES)
    if before is not None:
        query = query.where(_u.c.id < before)
    found = [RuleView(**row) for row in connection.execute(query).mappings()]
    return found, found[-1].id if len(found) == _RULES else None


def forget(connection: Connection, number: int) -> bool:
    """Revoke such a permission. False: there is none with that number."""
    return connection.execute(sa.delete(_u).where(_u.c.id == number)).rowcount == 1


class SqlApprovals(SqlStore):
    """See nanobot.plugins.approvals.port.Approvals. The same code for SQLite and PostgreSQL."""

    answer = verb(deciding.answer, "answer")
    approval = verb(one)
    seen = verb(seen, "seen")
    forget_rule = verb(forget, "forget_rule")

    _some = verb(listing)
    _some_asked_by = verb(asked_by)
    _some_rules = verb(rules)

    async def approvals(self, *, session: str, state: str, limit: int) -> list[Approval]:
        found: list[Approval] = []
        before: int | None = None
        while len(found) < limit:
            some, before = await self._some(session, state, limit - len(found), before)
            found += some
            if before is None:
                break
        return found

    async def asked_by(self, chat: Address, message_id: str) -> Approval | None:
        found, before = await self._some_asked_by(chat, message_id, None)
        while found is None and before is not None:
            found, before = await self._some_asked_by(chat, message_id, before)
        return found

    async def rules(self) -> list[RuleView]:
        found, before = await self._some_rules(None)
        while before is not None:
            some, before = await self._some_rules(before)
            found += some
        return found
