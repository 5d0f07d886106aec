"""Erasing on request: the payload of an entry, and the copies that the queues hold of it."""

from __future__ import annotations

import msgspec
import sqlalchemy as sa

from nanobot.errors import UsageError
from nanobot.messages import InboundMessage, OutboundMessage
from nanobot.session import entries as log_entries
from nanobot.session.entries import FailedEntry, PostEntry, ReplyEntry, UserEntry
from nanobot.store.database import schema
from nanobot.store.journal import log
from nanobot.store.unit import StoreContext
from nanobot.triggers.quiet import DIGEST, begun

_s = schema.sessions
_e = schema.entries
_i = schema.inbound
_o = schema.outbound
_p = schema.outbound_parts


def erase(connection: sa.Connection, writer: StoreContext, key: str, seq: int, by: str) -> None:
    """Remove one payload and say so in the log; the chain still holds. Erasing it again does
    nothing. A message that was still to be sent is dropped with it.

    Raises UsageError when there is no such entry, or when it tells of an erasure itself.
    """
    where = sa.and_(_e.c.session_key == key, _e.c.seq == seq)
    found = connection.execute(sa.select(_e.c.run_id, _e.c.kind, _e.c.payload).where(where)).first()
    if found is None or found.kind == "erased":
        raise UsageError(f"the log of {key} has no entry {seq} that could be erased")
    if found.payload is None:
        return
    body = log_entries.decode(found.payload)
    connection.execute(sa.update(_e).where(where).values(payload=None, salt=None))
    if isinstance(body, UserEntry):
        _empty_inbound(connection, body.inbound_id)
    elif isinstance(body, PostEntry):
        digests = sa.and_(_o.c.session_key == key, _o.c.key.startswith(DIGEST))
        _empty_outbound(connection, writer, sa.or_(_o.c.key == body.key, digests), body.text)
    elif isinstance(body, ReplyEntry | FailedEntry) and found.run_id:
        _empty_outbound(connection, writer, _o.c.run_id == found.run_id, body.text)
    if isinstance(body, UserEntry | PostEntry):
        named = sa.and_(_s.c.key == key, _s.c.title == log.title_of(body.text))
        connection.execute(sa.update(_s).where(named).values(title=""))
    lane = log.lane_of(connection, key)
    log.append(connection, writer, lane, "", [log_entries.ErasedEntry(seq=seq, by=by)])


def _empty_inbound(connection: sa.Connection, identity: int) -> None:
    row = sa.select(_i.c.body).where(_i.c.id == identity)
    message = msgspec.json.decode(connection.scalar(row) or b"", type=InboundMessage)
    bare = msgspec.structs.replace(message, text="", attachments=())
    emptied = sa.update(_i).where(_i.c.id == identity)
    connection.execute(emptied.values(body=msgspec.json.encode(bare)))


def _empty_outbound(
    connection: sa.Connection, writer: StoreContext, which: sa.ColumnElement[bool], said: str
) -> None:
    """Messages among `which` that say it, or begin with what it quotes of them."""
    rows = connection.execute(sa.select(_o.c.id, _o.c.body).where(which)).all()
    for identity, body in rows:
        message = msgspec.json.decode(body, type=OutboundMessage)
        quoted = said.strip() in message.text or message.text[:200] in said
        if message.key.startswith(DIGEST):
            quoted = begun(said) in message.text
        if not said.strip() or not quoted:
            continue
        bare = msgspec.structs.replace(message, text="", attachments=(), choices=())
        emptied = sa.update(_o).where(_o.c.id == identity)
        connection.execute(emptied.values(body=msgspec.json.encode(bare)))
        dropped = emptied.where(sa.or_(schema.OUTBOUND_OPEN, schema.OUTBOUND_HELD))
        connection.execute(dropped.values(state="dropped", settled_at=writer.clock.now()))
        connection.execute(sa.delete(_p).where(_p.c.outbound_id == identity))
