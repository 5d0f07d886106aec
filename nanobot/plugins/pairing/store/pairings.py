"""The Pairings over SQL."""

from __future__ import annotations

from typing import Any

import msgspec
import sqlalchemy as sa

from nanobot.errors import NanobotError, UnknownId, UsageError
from nanobot.messages import Address, OutboundKind, OutboundMessage, Role, Sender
from nanobot.plugins.common.store import access_tables
from nanobot.plugins.pairing.pairing import (
    KEPT_SECONDS,
    MAX_OPEN,
    VALID_SECONDS,
    PairingRequest,
    PairingView,
)
from nanobot.plugins.pairing.store.codes import code_of, spelled
from nanobot.plugins.pairing.store.questions import tell_owners
from nanobot.session import keys
from nanobot.store.database.connection import Connection
from nanobot.store.database.dialect import alone
from nanobot.store.database.prepared import Prepared
from nanobot.store.database.results import as_struct
from nanobot.store.journal import outbox
from nanobot.store.unit import Unit
from nanobot.store.verbs import SqlStore, transaction

PAIRED = keys.Keys("paired")
"""One per person and code: the welcome after they are let in. Never change it: databases contain
it."""
_p = access_tables.pairings
_LONGEST_NAME = 100
_PAGE = 250
"""Rows that a list reads in one transaction."""
_WELCOME = "You are in. Write to me as you would to a person; /help lists the commands."

_ROLE = Prepared(
    sa.select(_p.c.role).where(
        _p.c.channel == sa.bindparam("c"),
        _p.c.sender_id == sa.bindparam("s"),
        _p.c.state == "approved",
    )
)


class SqlPairingStore(SqlStore):
    """See pairing.PairingStore: the same code for SQLite and PostgreSQL."""

    @transaction()
    def role(self, connection: Connection, channel: str, sender_id: str) -> Role | None:
        role = _ROLE.scalar(connection, c=channel, s=sender_id)
        return None if role is None else Role(role)

    @transaction()
    def ask(self, unit: Unit, address: Address, sender: Sender) -> PairingRequest | Role:
        # Two requests at once would each find room for one more.
        alone(unit, "pairings")
        now, mine = unit.now, _of(address.channel, sender.id)
        row = unit.execute(sa.select(_p).where(mine)).first()
        if row is not None and row.state == "approved":
            return Role(row.role)
        if row is not None and row.state == "asked" and row.expires_at > now:
            if row.chat_id != address.chat_id:  # people look in the chat where they last asked
                unit.execute(sa.update(_p).where(mine).values(chat_id=address.chat_id))
            return PairingRequest(code=row.code, asked_at=row.asked_at, expires_at=row.expires_at)
        unanswered = _p.c.state == "asked"
        unit.execute(sa.delete(_p).where(unanswered, _p.c.expires_at <= now - KEPT_SECONDS))
        of_channel = sa.and_(_p.c.channel == address.channel, unanswered)
        last = sa.select(_p.c.asked_at).where(of_channel).order_by(_p.c.asked_at.desc())
        oldest = unit.scalar(last.offset(MAX_OPEN - 1).limit(1))
        if oldest is not None:  # frequent requests must not displace a person who asks once
            unit.execute(sa.delete(_p).where(of_channel, _p.c.asked_at <= oldest))
        request = PairingRequest(code=_new_code(unit), asked_at=now, expires_at=now + VALID_SECONDS)
        refused = row is not None and row.state == "revoked"
        unit.execute(sa.delete(_p).where(mine))
        values = {
            "channel": address.channel,
            "sender_id": sender.id,
            "name": sender.name[:_LONGEST_NAME],
            "chat_id": address.chat_id,
            "state": "asked",
            "role": "",
            "code": request.code,
            "asked_at": request.asked_at,
            "expires_at": request.expires_at,
        }
        unit.execute(sa.insert(_p), values)
        view = _seen(unit.execute(sa.select(_p).where(mine)).one(), now)
        addresses = () if refused else tell_owners(unit, request, view)
        return msgspec.structs.replace(request, told=addresses)

    @transaction("approve")
    def approve(self, unit: Unit, code: str, role: Role, by: str) -> tuple[PairingView, Address]:
        code = spelled(code)
        now = unit.now
        query = sa.select(_p).where(_p.c.code == code).with_for_update()
        row = unit.execute(query).first()
        if row is None:
            raise UnknownId(f"No one was given the code {code}; `pair list` shows who asks.")
        called = row.name or row.sender_id
        if row.state != "asked":
            raise NanobotError(f"The code {code} was used already: {called} is {row.state}.")
        if row.expires_at <= now:
            raise NanobotError(
                f"The code {code} has expired. If {called} writes again, they get another."
            )
        mine = _of(row.channel, row.sender_id)
        values = {"state": "approved", "role": role, "decided_at": now, "decided_by": by}
        unit.execute(sa.update(_p).where(mine).values(**values))
        address = Address(row.channel, row.chat_id)
        welcome = OutboundMessage(
            address=address,
            text=_WELCOME,
            kind=OutboundKind.NOTICE,
            key=PAIRED.of(row.channel, row.sender_id, code),
            only_for=row.sender_id,
        )
        outbox.owe(unit, str(address), "", [welcome])
        return _seen(unit.execute(sa.select(_p).where(mine)).one(), now), address

    @transaction("let_in")
    def let_in(self, unit: Unit, channel: str, sender_id: str, role: Role, by: str) -> PairingView:
        alone(unit, "pairings")
        now, mine = unit.now, _of(channel, sender_id)
        existing = unit.execute(sa.select(_p).where(mine)).first()
        values = {
            "channel": channel,
            "sender_id": sender_id,
            "name": "" if existing is None else existing.name,
            "chat_id": "" if existing is None else existing.chat_id,
            "state": "approved",
            "role": role,
            "code": None,
            "asked_at": now if existing is None else existing.asked_at,
            "expires_at": now,
            "decided_at": now,
            "decided_by": by,
        }
        unit.execute(sa.delete(_p).where(mine))
        unit.execute(sa.insert(_p), values)
        return _seen(unit.execute(sa.select(_p).where(mine)).one(), now)

    @transaction("revoke")
    def revoke(self, unit: Unit, who: str, by: str) -> PairingView:
        now = unit.now
        named = sa.or_(_p.c.sender_id == who, _p.c.channel + ":" + _p.c.sender_id == who)
        query = sa.select(_p).where(named, _p.c.state != "revoked").with_for_update()
        rows = unit.execute(query).all()
        if not rows:
            raise UnknownId(
                f"No one called {who} has access by pairing; `pair list` shows the people who "
                f"have. To revoke the access of a person in the configuration, change the "
                f"configuration."
            )
        if len(rows) > 1:
            names = ", ".join(sorted(keys.person(row.channel, row.sender_id) for row in rows))
            raise UsageError(f"{who} is several: say which of {names}")
        mine = _of(rows[0].channel, rows[0].sender_id)
        values = {"state": "revoked", "decided_at": now, "decided_by": by}
        unit.execute(sa.update(_p).where(mine).values(**values))
        return _seen(unit.execute(sa.select(_p).where(mine)).one(), now)

    async def listed(self, *, state: str, limit: int) -> list[PairingView]:
        # By pages of the key, then sorted here: one sort of all of them would read every row.
        found, key = await self._some(state, None)
        while key is not None:
            some, key = await self._some(state, key)
            found += some
        return sorted(found, key=lambda each: (-each.asked_at, each.who))[:limit]

    @transaction()
    def _some(
        self, unit: Unit, state: str, after: tuple[str, str] | None
    ) -> tuple[list[PairingView], tuple[str, str] | None]:
        """A page of those in a state, and the key of its last row; None at the end."""
        now = unit.now
        query = sa.select(_p).order_by(_p.c.channel, _p.c.sender_id).limit(_PAGE)
        if after is not None:
            query = query.where(sa.tuple_(_p.c.channel, _p.c.sender_id) > sa.tuple_(*after))
        if state in {"asked", "expired"}:
            open_now = _p.c.expires_at > now
            query = query.where(_p.c.state == "asked", open_now if state == "asked" else ~open_now)
        elif state:
            query = query.where(_p.c.state == state)
        rows = unit.execute(query).all()
        last = (rows[-1].channel, rows[-1].sender_id) if len(rows) == _PAGE else None
        return [_seen(row, now) for row in rows], last


def _seen(row: sa.Row[*tuple[Any, ...]], now: float) -> PairingView:
    expired = row.state == "asked" and row.expires_at <= now
    return as_struct(
        row,
        PairingView,
        who=keys.person(row.channel, row.sender_id),
        state="expired" if expired else row.state,
        role=row.role or None,
        code=row.code or "",
    )


def _of(channel: str, sender_id: str) -> sa.ColumnElement[bool]:
    return sa.and_(_p.c.channel == channel, _p.c.sender_id == sender_id)


def _new_code(unit: Unit) -> str:
    while True:
        code = code_of(unit.writer.ids.salt())
        if unit.execute(sa.select(_p.c.code).where(_p.c.code == code)).first() is None:
            return code
