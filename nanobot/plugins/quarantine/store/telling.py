"""Tells people of rows in quarantine: the chat of the message or answer, and the owners.

The notices of a row are made again until the owners know of it, so a process that ends in between
loses none; their keys make each of them one message.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import sqlalchemy as sa

from nanobot.messages import Address, OutboundKind, OutboundMessage
from nanobot.plugins.common.store.owners import chats_of_approvers
from nanobot.plugins.quarantine.store.values import decode
from nanobot.session.keys import Keys
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.journal import outbox
from nanobot.store.quarantine.guard import READING_FAILED
from nanobot.store.quarantine.raw import Raw, RawRow
from nanobot.store.unit import Unit

_q = schema.quarantine
QUARANTINE = Keys("quarantine")
"""The key of the notice: one for each row and chat."""
_NAMED = 5
_TEXTS = {
    "runs": "My records of this conversation are damaged, so I stopped working on your last "
    "message. Please ask again.",
    "inbound": "My records are damaged: I cannot read a message that you sent. "
    "Please send it again.",
    "outbound": "My records are damaged: I cannot read an answer that was on its way to you. "
    "Please ask again.",
}
_SETTLED = frozenset(
    {*(b"completed", b"failed", b"aborted"), b"settled"}
    | {b"sent", b"dead", b"held", b"preview", b"direct", b"digested", b"dropped"}
)
"""States in which no sender or recipient waits for a run or a message."""


class Telling:
    """See `nanobot.store.quarantine.guard.Care`."""

    def tell(self, unit: Unit) -> list[Address]:
        """Tell the chats that wait for rows, and the owners. Returns the chats of all unsent
        notices of this kind.
        """
        rows = unit.execute(sa.select(_q).where(~_q.c.told).order_by(_q.c.id)).all()
        for row in rows:
            with suppress(*READING_FAILED):  # its content may be damaged, too
                _tell_chat(unit, row)
        _tell_owners(unit, rows)
        return _owed_in(unit)


def _tell_chat(unit: Unit, row: Any) -> None:
    """Tell the chat that waits for these rows, in one message. Repeating it has no effect."""
    if row.state == "restored":
        return
    kept = decode(row.content)
    gone = kept[1:] if row.state == "repaired" else kept
    for table, text in _TEXTS.items():
        for each in gone:
            address = chat_of(each.columns) if each.table == table else None
            if address is None or each.columns["state"].data in _SETTLED:
                continue
            notice = OutboundMessage(
                address=address,
                text=text,
                kind=OutboundKind.NOTICE,
                key=QUARANTINE.of(row.id),
                failed=True,
            )
            outbox.owe(unit, str(address), "", [notice])
            return


def _tell_owners(unit: Unit, rows: Sequence[Any]) -> None:
    """Tell owners once about rows in quarantine, if they have a chat."""
    chats = chats_of_approvers(unit) if rows else []
    if not chats:
        return
    named = "\n".join(
        f"- {row.of_table} {row.row_key}: {row.of_column}: {row.reason}" for row in rows[:_NAMED]
    )
    more = f"\n- and {len(rows) - _NAMED} more" if len(rows) > _NAMED else ""
    what = "1 row" if len(rows) == 1 else f"{len(rows)} rows"
    text = (
        f"My records are damaged: {what} could not be read and went into quarantine. Everything "
        f"else works.\n{named}{more}\n`nanobot db quarantine list` shows them all."
    )
    key = QUARANTINE.of(rows[0].id, rows[-1].id)
    for address in chats:
        notice = OutboundMessage(
            address=address, text=text, kind=OutboundKind.NOTICE, key=f"{key}:{address}"
        )
        outbox.owe(unit, str(address), "", [notice])
    told = sa.update(_q).where(_q.c.id.in_([row.id for row in rows]))
    unit.execute(told.values(told=True))


def _owed_in(connection: Connection) -> list[Address]:
    """The chats with unsent notices of this kind."""
    _o = schema.outbound
    query = sa.select(_o.c.channel, _o.c.chat_id).where(
        schema.OUTBOUND_OPEN, _o.c.key.startswith(f"{QUARANTINE.word}:")
    )
    return [Address(row.channel, row.chat_id) for row in connection.execute(query.distinct())]


def chat_of(row: RawRow) -> Address | None:
    """The recipient of a message, if it can still be determined."""
    channel, chat = _text(row["channel"]), _text(row["chat_id"])
    return Address(channel, chat, _text(row.get("thread_id"))) if channel and chat else None


def _text(raw: Raw | None) -> str | None:
    if raw is None or raw.kind != "text":
        return None
    try:
        return raw.data.decode()
    except UnicodeDecodeError:
        return None
