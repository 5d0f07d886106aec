"""Previews: rows of answers in progress, whose message is already in the chat."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import sqlalchemy as sa

from nanobot.messages import OutboundMessage
from nanobot.ports import OutboundPart
from nanobot.session.entries import Body, ReplyEntry
from nanobot.session.outbox import OutboundRow
from nanobot.store.database import message_tables as schema
from nanobot.store.database.dialect import insert_ignore
from nanobot.store.journal import outbox
from nanobot.store.unit import Unit

_o = schema.outbound
_r = schema.runs

STOPPED_LINE = "[stopped]"


def preview(
    unit: Unit, run_id: str, message: OutboundMessage, part: OutboundPart
) -> OutboundRow | None:
    unit.writer.chats.fence(unit, message.address)
    # Locked, so that a concurrent end of the run sees our row.
    alive = sa.select(_r.c.session_key).where(_r.c.id == run_id, schema.RUN_LIVE).with_for_update()
    session_key = unit.scalar(alive)
    if session_key is None:
        return None
    now = unit.now
    row_of = outbox.values(message, session_key, run_id, now)
    values = {**row_of, "state": "preview", "attempts": 1}
    new_id = insert_ignore(unit, _o, values, _o.c.id)
    if new_id is not None:
        outbox.keep_parts(unit, new_id, [part], ("preview", now))
    row = outbox.find(unit, message.key)
    if row is None or row.state != "preview":
        return None
    return row if new_id is not None or row.standing else None


def close(unit: Unit, run_id: str, key: str, bodies: Sequence[Body]) -> None:
    """The run has ended without a message for that key: the preview becomes the text written so
    far, with a line that it was stopped."""
    row = outbox.find(unit, key)
    if row is None or row.state != "preview":
        return
    if not row.parts:
        unit.execute(sa.delete(_o).where(_o.c.id == row.id))
        return
    texts = [body.text for body in bodies if isinstance(body, ReplyEntry) and body.text]
    text = f"{(texts or [row.message.text])[0]}\n\n{STOPPED_LINE}".strip()
    message = msgspec.structs.replace(row.message, text=text)
    outbox.owe(unit, row.session_key, run_id, [message])
