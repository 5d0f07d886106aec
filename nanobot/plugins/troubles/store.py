"""Unrequested notices to owners, in their own chats."""

from __future__ import annotations

import hashlib

import sqlalchemy as sa

from nanobot.addresses import session_at
from nanobot.messages import Address, OutboundKind, OutboundMessage
from nanobot.plugins.common.store.owners import chats_of_approvers
from nanobot.store.journal import outbox
from nanobot.store.unit import StoreContext
from nanobot.store.verbs import SqlStore, verb

_DAY = 86_400.0


def tell_owners(
    connection: sa.Connection, writer: StoreContext, about: str, text: str
) -> tuple[Address, ...]:
    """Queue a text for the owners, at most once a day about the same subject. Returns the chats it
    is queued for.
    """
    chats = tuple(chats_of_approvers(connection, writer))
    name = hashlib.sha256(about.encode("utf-8", "replace")).hexdigest()[:16]
    day = int(writer.clock.now() // _DAY)
    for to in chats:
        message = OutboundMessage(
            address=to, text=text, kind=OutboundKind.NOTICE, key=f"trouble:{name}:{day}:{to}"
        )
        outbox.owe(connection, writer, session_at(to), "", [message])
    return chats


class SqlOwnerNotices(SqlStore):
    """The same code for SQLite and PostgreSQL."""

    tell = verb(tell_owners, "owner_notice")
