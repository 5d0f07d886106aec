"""Messages owed: created with what they answer, sent part by part, each send recorded around it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import sqlalchemy as sa

from nanobot.errors import Fenced
from nanobot.messages import (
    TERMINAL,
    Address,
    Attachment,
    OutboundKind,
    OutboundMessage,
)
from nanobot.ports import OutboundPart
from nanobot.session.entries import NoteEntry, PostEntry
from nanobot.session.outbox import BuryScope, OutboundRow, PartRow
from nanobot.store.database import schema
from nanobot.store.database.dialect import insert_or_turn
from nanobot.store.database.prepared import prepared
from nanobot.store.journal import chats, log
from nanobot.store.unit import StoreContext

_o = schema.outbound
_p = schema.outbound_parts
_s = schema.sessions
_decoder = msgspec.json.Decoder(OutboundMessage)

_COLUMNS = (
    _o.c.id,
    _o.c.session_key,
    _o.c.run_id,
    _o.c.body,
    _o.c.state,
    _o.c.attempts,
    _o.c.not_before,
    _o.c.maybe_duplicate,
    _o.c.duplicate_sends,
    _o.c.error,
    _o.c.created_at,
)
_NEXT = (
    sa.select(*_COLUMNS)
    .where(
        _o.c.channel == sa.bindparam("c"),
        _o.c.chat_id == sa.bindparam("chat"),
        schema.OUTBOUND_OPEN,
    )
    .order_by(_o.c.id)
    .limit(1)
)
_PARTS = (
    sa.select(_p.c.idx, _p.c.text, _p.c.payload, _p.c.key, _p.c.state, _p.c.receipt, _p.c.file)
    .add_columns(_p.c.began_at)
    .where(_p.c.outbound_id == sa.bindparam("o"))
    .order_by(_p.c.idx)
)
_SENDING = (
    sa.update(_o)
    .where(_o.c.id == sa.bindparam("o"), schema.OUTBOUND_OPEN)
    .values(
        state="sending",
        attempts=_o.c.attempts + 1,
        maybe_duplicate=sa.or_(_o.c.maybe_duplicate, sa.bindparam("dup", type_=sa.Boolean)),
        duplicate_sends=_o.c.duplicate_sends + sa.bindparam("n"),
    )
)
_DONE = (
    sa.update(_o)
    .where(_o.c.id == sa.bindparam("o"), schema.OUTBOUND_OPEN)
    .values(state="sent", error=None, settled_at=sa.bindparam("now"))
)
# What arrived was read, and all that was said before it.
_READ = (
    sa.update(_s)
    .where(_s.c.key == sa.bindparam("k"))
    .where(sa.or_(_s.c.last_read_at.is_(None), _s.c.last_read_at < sa.bindparam("at")))
    .values(last_read_at=sa.bindparam("at"))
)
_PART_INSERT = sa.insert(_p)
_OWED = (
    sa.select(_o.c.chat_id, sa.func.min(_o.c.id))
    .where(_o.c.channel == sa.bindparam("c"), schema.OUTBOUND_OPEN)
    .group_by(_o.c.chat_id)
    .order_by(sa.func.min(_o.c.id))
)
_KNOWN = sa.select(_o.c.id).where(_o.c.key == sa.bindparam("key"))
_LATER = (
    sa.update(_o)
    .where(_o.c.id == sa.bindparam("o"), schema.OUTBOUND_OPEN)
    .values(state="pending", not_before=sa.bindparam("at"), error=sa.bindparam("e"))
)
_DEAD = (
    sa.update(_o)
    .where(_o.c.id == sa.bindparam("o"), schema.OUTBOUND_OPEN)
    .values(state="dead", error=sa.bindparam("e"), settled_at=sa.bindparam("now"))
)
_PART_STATE = (
    sa.update(_p)
    .where(_p.c.outbound_id == sa.bindparam("o"), _p.c.idx == sa.bindparam("n"))
    .values(state=sa.bindparam("s"))
)
# A part in doubt may have been applied ever since its first send began.
_PART_BEGUN = (
    sa.update(_p)
    .where(_p.c.outbound_id == sa.bindparam("o"), _p.c.idx == sa.bindparam("n"))
    .values(
        state="sending",
        began_at=sa.case((_p.c.state == "sending", _p.c.began_at), else_=sa.bindparam("now")),
    )
)
_PART_SENT = (
    sa.update(_p)
    .where(_p.c.outbound_id == sa.bindparam("o"), _p.c.idx == sa.bindparam("n"))
    .values(state=sa.bindparam("s"), receipt=sa.bindparam("r"))
)
_PARTS_GONE = sa.delete(_p).where(_p.c.outbound_id == sa.bindparam("o"))
prepared(_NEXT, _PARTS, _SENDING, _DONE, _PART_INSERT, _OWED, _KNOWN, _LATER, _DEAD, _PART_STATE)
prepared(_PART_SENT, _PART_BEGUN, _PARTS_GONE, _READ)


def owe(
    connection: sa.Connection,
    writer: StoreContext,
    session_key: str,
    run_id: str,
    messages: Sequence[OutboundMessage],
) -> None:
    """Create the rows; a key that exists already is not owed twice. Where a preview of the message
    stands, its row becomes the message's."""
    for message in messages:
        connection.execute(
            insert_or_turn(connection, _o, schema.OUTBOUND_PREVIEW),
            {
                "key": message.key,
                "session_key": session_key,
                "run_id": run_id,
                "channel": message.address.channel,
                "chat_id": message.address.chat_id,
                "body": msgspec.json.encode(message),
                "state": "direct" if message.direct else "pending",
                "created_at": writer.clock.now(),
                "settled_at": writer.clock.now() if message.direct else None,
            },
        )


def post(
    connection: sa.Connection, writer: StoreContext, session_key: str, message: OutboundMessage
) -> None:
    """See Journal.post. A key that was posted already is not said twice."""
    if connection.execute(_KNOWN, {"key": message.key}).first() is not None:
        return
    log.ensure_session(connection, writer, session_key, message.text)
    lane = log.lane_of(connection, session_key)
    entry = PostEntry(text=message.text, key=message.key, tainted=message.tainted)
    log.append(connection, writer, lane, "", [entry])
    owe(connection, writer, session_key, "", [message])
    if writer.quiet is not None and message.kind is OutboundKind.POST and not message.asked:
        writer.quiet.posted(connection, message)


def owed_chats(connection: sa.Connection, channel: str) -> list[Address]:
    """See Journal.owed_chats."""
    return [Address(channel, chat) for chat, _ in connection.execute(_OWED, {"c": channel})]


def next_outbound(connection: sa.Connection, channel: str, chat_id: str) -> OutboundRow | None:
    """See Journal.next_outbound."""
    row = connection.execute(_NEXT, {"c": channel, "chat": chat_id}).first()
    if row is None:
        return None
    parts: tuple[PartRow, ...] = ()
    if row.state == "sending" or row.attempts:
        parts = _parts(connection, row.id)
    return _as_row(row, parts)


def find(connection: sa.Connection, key: str) -> OutboundRow | None:
    """The message of that key, whatever became of it."""
    row = connection.execute(sa.select(*_COLUMNS).where(_o.c.key == key)).first()
    return None if row is None else _as_row(row, _parts(connection, row.id))


def oldest_owed(connection: sa.Connection) -> OutboundRow | None:
    """See Journal.oldest_owed."""
    query = sa.select(*_COLUMNS).where(schema.OUTBOUND_OPEN).order_by(_o.c.id).limit(1)
    row = connection.execute(query).first()
    return None if row is None else _as_row(row, _parts(connection, row.id))


def _parts(connection: sa.Connection, outbound_id: int) -> tuple[PartRow, ...]:
    return tuple(
        PartRow(
            idx=idx,
            part=OutboundPart(
                text=text,
                payload=bytes(payload),
                key=key,
                file=None if file is None else msgspec.json.decode(file, type=Attachment),
            ),
            state=state,
            receipt=receipt,
            began_at=began_at or 0.0,
        )
        for idx, text, payload, key, state, receipt, file, began_at in connection.execute(
            _PARTS, {"o": outbound_id}
        )
    )


def _as_row(row: sa.Row[*tuple[Any, ...]], parts: tuple[PartRow, ...]) -> OutboundRow:
    return OutboundRow(
        id=row.id,
        session_key=row.session_key,
        run_id=row.run_id,
        state=row.state,
        message=_decoder.decode(row.body),
        attempts=row.attempts,
        not_before=row.not_before,
        maybe_duplicate=bool(row.maybe_duplicate),
        duplicate_sends=row.duplicate_sends,
        created_at=row.created_at,
        error=row.error,
        parts=parts,
    )


def begin_send(
    connection: sa.Connection,
    writer: StoreContext,
    row: OutboundRow,
    new_parts: Sequence[OutboundPart],
    idx: int,
    *,
    duplicate: bool,
) -> None:
    """See Journal.begin_send."""
    moved = connection.execute(_SENDING, {"o": row.id, "dup": duplicate, "n": int(duplicate)})
    if moved.rowcount != 1:
        raise Fenced(f"message {row.id} is no longer unsent")
    now = writer.clock.now()
    if not new_parts:
        connection.execute(_PART_BEGUN, {"o": row.id, "n": idx, "now": now})
        return
    if row.attempts:
        connection.execute(_PARTS_GONE, {"o": row.id})
    keep_parts(connection, row.id, new_parts, ("sending", now), row.standing)


def keep_parts(
    connection: sa.Connection,
    outbound_id: int,
    parts: Sequence[OutboundPart],
    first: tuple[str, float],
    standing: str | None = None,
) -> None:
    """Store the parts of a message, the first in that state since then, in the place of what stands
    there."""
    values = [
        {
            "outbound_id": outbound_id,
            "idx": number,
            "text": part.text,
            "payload": part.payload,
            "key": part.key,
            "state": "pending" if number else first[0],
            "began_at": None if number else first[1],
            "receipt": None if number else standing,
            "file": None if part.file is None else msgspec.json.encode(part.file),
        }
        for number, part in enumerate(parts)
    ]
    connection.execute(_PART_INSERT, values)


def receipt(
    connection: sa.Connection,
    writer: StoreContext,
    row: OutboundRow,
    idx: int,
    message_id: str,
    *,
    begin: int | None,
) -> OutboundRow | None:
    """See Journal.receipt."""
    state = "preview" if row.state == "preview" else "sent"
    connection.execute(_PART_SENT, {"o": row.id, "n": idx, "s": state, "r": message_id})
    if row.state == "preview":
        return None
    if begin is not None:
        connection.execute(_PART_BEGUN, {"o": row.id, "n": begin, "now": writer.clock.now()})
        return None
    connection.execute(_READ, {"k": row.session_key, "at": row.created_at})
    connection.execute(_DONE, {"o": row.id, "now": writer.clock.now()})
    address = row.message.address
    return next_outbound(connection, address.channel, address.chat_id)


def defer(
    connection: sa.Connection, row: OutboundRow, idx: int, not_before: float, error: str
) -> None:
    """See Journal.defer."""
    if row.state == "preview":
        connection.execute(_PARTS_GONE, {"o": row.id})
        return
    # What was in doubt before this attempt still is: this one was not applied, the other may be.
    if not any(part.idx == idx and part.state == "sending" for part in row.parts):
        connection.execute(_PART_STATE, {"o": row.id, "n": idx, "s": "pending"})
    connection.execute(_LATER, {"o": row.id, "at": not_before, "e": error})


def bury(
    connection: sa.Connection,
    writer: StoreContext,
    row: OutboundRow,
    error: str,
    *,
    scope: BuryScope,
) -> int:
    """See Journal.bury."""
    address = row.message.address
    query = sa.select(_o.c.id, _o.c.session_key, _o.c.run_id, _o.c.body).where(schema.OUTBOUND_OPEN)
    if scope == "message":
        query = query.where(_o.c.id == row.id)
    else:
        query = query.where(_o.c.channel == address.channel, _o.c.chat_id == address.chat_id)
    if scope == "chat":
        chats.refused(connection, writer, address, error)
    dead = 0
    for identity, session_key, run_id, body in connection.execute(query.order_by(_o.c.id)).all():
        message = _decoder.decode(body)
        if scope == "thread" and message.address != address:
            continue
        dead += 1
        connection.execute(_DEAD, {"o": identity, "e": error, "now": writer.clock.now()})
        text = f"This was not delivered ({error}): {message.text[:200]}"
        if log.exists(connection, session_key):
            lane = log.lane_of(connection, session_key)
            log.append(connection, writer, lane, run_id, [NoteEntry(what="undelivered", text=text)])
    return dead


def listing(
    connection: sa.Connection, state: str | None, limit: int, identity: int | None = None
) -> list[OutboundRow]:
    """Messages by id, or by state (None: any but those that no chat is owed), newest first."""
    query = sa.select(*_COLUMNS).order_by(_o.c.id.desc()).limit(limit)
    if identity is not None:
        query = query.where(_o.c.id == identity)
    else:
        query = query.where(_o.c.state == state if state else _o.c.state != "direct")
    rows = connection.execute(query).all()
    return [_as_row(row, _parts(connection, row.id)) for row in rows]


def retry(connection: sa.Connection, writer: StoreContext, identity: int) -> bool:
    """A dead message becomes unsent again, with its whole time before it; False when it is not
    dead."""
    again = sa.update(_o).where(_o.c.id == identity, _o.c.state == "dead")
    fresh = {"state": "pending", "not_before": 0, "settled_at": None}
    moved = connection.execute(again.values(**fresh, created_at=writer.clock.now()))
    if moved.rowcount:
        stuck = sa.update(_p).where(_p.c.outbound_id == identity, _p.c.state == "sending")
        connection.execute(stuck.values(state="pending"))
    return moved.rowcount == 1


def unshown(connection: sa.Connection, session_key: str) -> list[int]:
    """What a session has to say in a terminal as soon as one is there, but questions."""
    waits = sa.select(_o.c.id, _o.c.body).where(
        _o.c.session_key == session_key, _o.c.channel == TERMINAL, _o.c.state == "pending"
    )
    rows = connection.execute(waits).all()
    return [i for i, body in rows if _decoder.decode(body).kind is not OutboundKind.APPROVAL]


def drop(connection: sa.Connection, writer: StoreContext, identity: int) -> bool:
    """Give an unsent or dead message up; False when it is neither."""
    gone = sa.update(_o).where(_o.c.id == identity, _o.c.state.in_(("held", "pending", "dead")))
    now = writer.clock.now()
    return connection.execute(gone.values(state="dropped", settled_at=now)).rowcount == 1
