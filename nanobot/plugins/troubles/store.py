"""Unrequested notices to owners, in their own chats."""

from __future__ import annotations

import hashlib

from nanobot.addresses import session_at
from nanobot.messages import Address, OutboundKind, OutboundMessage
from nanobot.plugins.common.store.owners import chats_of_approvers
from nanobot.store.journal import outbox
from nanobot.store.unit import Unit
from nanobot.store.verbs import SqlStore, verb

_DAY = 86_400.0


def tell_owners(unit: Unit, about: str, text: str) -> tuple[Address, ...]:
    """Queue a text for the owners, at most once a day about the same subject. Returns the chats it
    is queued for.
    """
    chats = tuple(chats_of_approvers(unit))
    name = hashlib.sha256(about.encode("utf-8", "replace")).hexdigest()[:16]
    day = int(unit.now // _DAY)
    for to in chats:
        message = OutboundMessage(
            address=to, text=text, kind=OutboundKind.NOTICE, key=f"trouble:{name}:{day}:{to}"
        )
        outbox.owe(unit, session_at(to), "", [message])
    return chats


class SqlOwnerNotices(SqlStore):
    """The same code for SQLite and PostgreSQL."""

    tell = verb(tell_owners, "owner_notice")
