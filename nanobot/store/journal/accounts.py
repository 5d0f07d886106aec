"""A channel's accounts on its platform: each account numbers its messages independently."""

from __future__ import annotations

import msgspec
import sqlalchemy as sa

from nanobot.messages import Origin, OutboundMessage
from nanobot.session.inbox import Admission
from nanobot.store.database import message_tables as schema
from nanobot.store.database.connection import Connection
from nanobot.store.database.dialect import alone
from nanobot.store.database.prepared import Prepared
from nanobot.store.database.results import PreparedResult

_c = schema.channels
_a = schema.channel_accounts

_ACCOUNT_OF = sa.select(_c.c.account).where(_c.c.name == sa.bindparam("n"))
_ACCOUNT = Prepared(_ACCOUNT_OF)
CURRENT = sa.func.coalesce(_ACCOUNT_OF.scalar_subquery(), sa.literal_column("0"))
"""The number of the current account of the channel `n`."""


def current(connection: Connection, channel: str) -> PreparedResult:
    """Ask for the number of the channel's current account (none: 0)."""
    return _ACCOUNT.execute(connection, n=channel)


def use(connection: Connection, channel: str, identity: str) -> None:
    """See Journal.account. A channel's first identity applies to its earlier messages too."""
    alone(connection, f"account {channel}")
    rows = connection.execute(sa.select(_a).where(_a.c.channel == channel)).all()
    accounts = {row.identity: row for row in rows}
    now = connection.execute(sa.select(_c).where(_c.c.name == channel)).first()
    if now is None:
        connection.execute(sa.insert(_c), {"name": channel})
    chosen = accounts.get(identity)
    number = len(rows) if chosen is None else chosen.account
    if chosen is None:
        row = {"channel": channel, "identity": identity, "account": number}
        connection.execute(sa.insert(_a), row)
    if now is None or number == now.account:
        return
    kept = sa.update(_a).where(_a.c.channel == channel, _a.c.account == now.account)
    connection.execute(kept.values(cursor=now.cursor))
    cursor = None if chosen is None else chosen.cursor
    connection.execute(
        sa.update(_c).where(_c.c.name == channel).values(account=number, cursor=cursor)
    )


def of(admission: Admission, account: int) -> tuple[Admission, int]:
    """The admission with the account that numbers its message: the channel's for messages of
    people, none for all others. Outgoing messages for it then have a separate key."""
    if not account or admission.message.origin is not Origin.USER:
        return admission, 0
    answer, stop = admission.answer, admission.stop
    if stop is not None:
        outbound = tuple(numbered(message, account) for message in stop.outbound)
        stop = msgspec.structs.replace(stop, outbound=outbound)
    if answer is not None:
        answer = numbered(answer, account)
    return msgspec.structs.replace(admission, answer=answer, stop=stop), account


def numbered(message: OutboundMessage, account: int) -> OutboundMessage:
    """The message with a key of its own on this account."""
    key = f"{message.key}~{account}" if account else message.key
    return msgspec.structs.replace(message, key=key)
