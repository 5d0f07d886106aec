"""The rows of previews: answers in progress, whose message is already in the chat."""

from __future__ import annotations

import sqlalchemy as sa

from nanobot.messages import OutboundMessage
from nanobot.ports import OutboundPart
from nanobot.session.outbox import OutboundRow
from nanobot.store.database import message_tables as schema
from nanobot.store.database.dialect import insert_ignore
from nanobot.store.journal import outbox
from nanobot.store.unit import Unit
from nanobot.store.verbs import SqlStore, verb

_o = schema.outbound
_r = schema.runs


def preview(
    unit: Unit, run_id: str, message: OutboundMessage, part: OutboundPart
) -> OutboundRow | None:
    """Create a row before the preview of a run's answer is shown. It is never sent; when the run
    creates its answer, the row becomes that answer (same key). The row contains the receipt of a
    preview already shown, also by an earlier process; otherwise call `receipt` or `defer` next.
    None: the run has ended, or it is unknown whether a preview is shown."""
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
        outbox.PART_INSERT.many(unit, outbox.part_values(new_id, [part], ("preview", now)))
    row = outbox.find(unit, message.key)
    if row is None or row.state != "preview":
        return None
    return row if new_id is not None or row.standing else None


class PreviewRows(SqlStore):
    """The verb, over the store of a journal."""

    preview = verb(preview, "preview")
