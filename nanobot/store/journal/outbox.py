"""Outgoing messages: created together with the result they report, sent part by part, each send
recorded before and after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import sqlalchemy as sa

from nanobot.errors import Fenced
from nanobot.messages import WEB, Address, Attachment, OutboundKind, OutboundMessage
from nanobot.ports import OutboundPart
from nanobot.session.entries import Body, PostEntry, ReplyEntry, UndeliveredEntry
from nanobot.session.outbox import BuryScope, OutboundRow, PartRow
from nanobot.store.database import message_tables as schema
from nanobot.store.database.connection import Connection
from nanobot.store.database.dialect import insert_or_set, nothing_follows
from nanobot.store.database.prepared import Prepared
from nanobot.store.journal import chats, inbox, log
from nanobot.store.unit import Unit

_o = schema.outbound
_p = schema.outbound_parts
_s = schema.sessions
_decoder = msgspec.json.Decoder(OutboundMessage)
_files: msgspec.json.Decoder[schema.Files] = msgspec.json.Decoder(schema.Files)

STOPPED_LINE = "[stopped]"
_PLAIN = (
    *("id", "session_key", "run_id", "state", "attempts", "not_before"),
    *("duplicate_sends", "error", "created_at", "settled_at"),
)
COLUMNS = [_o.c[name] for name in (*_PLAIN, "maybe_duplicate", "body")]
"""The columns that `with_parts` needs."""

_NEXT = Prepared(
    sa.select(*COLUMNS)
    .where(
        _o.c.channel == sa.bindparam("c"),
        _o.c.chat_id == sa.bindparam("chat"),
        schema.OUTBOUND_OPEN,
    )
    .order_by(_o.c.id)
    .limit(1)
)
_OWED = Prepared(
    sa.select(_o.c.chat_id, sa.func.min(_o.c.id))
    .where(_o.c.channel == sa.bindparam("c"), schema.OUTBOUND_OPEN)
    .group_by(_o.c.chat_id)
    .order_by(sa.func.min(_o.c.id))
)
_BY_KEY = Prepared(sa.select(_o.c.id).where(_o.c.key == sa.bindparam("key")))
_UNSENT = sa.update(_o).where(_o.c.id == sa.bindparam("o"), schema.OUTBOUND_OPEN)
_SENDING = Prepared(
    _UNSENT.values(
        state="sending",
        attempts=_o.c.attempts + 1,
        maybe_duplicate=sa.or_(_o.c.maybe_duplicate, sa.bindparam("dup", type_=sa.Boolean)),
        duplicate_sends=_o.c.duplicate_sends + sa.bindparam("n"),
    )
)
_DONE = Prepared(_UNSENT.values(state="sent", error=None, settled_at=sa.bindparam("now")))
_LATER = Prepared(
    _UNSENT.values(state="pending", not_before=sa.bindparam("at"), error=sa.bindparam("e"))
)
_DEAD = Prepared(
    _UNSENT.values(state="dead", error=sa.bindparam("e"), settled_at=sa.bindparam("now"))
)
# A message that arrived in a chat counts as read, like everything before it. The page is different:
# it says itself when a person has seen it.
READ_UNTIL = (
    sa.update(_s)
    .where(sa.or_(_s.c.last_read_at.is_(None), _s.c.last_read_at < sa.bindparam("at")))
    .values(last_read_at=sa.bindparam("at"))
)
_READ = Prepared(READ_UNTIL.where(schema.THIS_SESSION))
# A message that the log does not contain is unread all the same.
_BESIDE_THE_LOG = (OutboundKind.NOTICE, OutboundKind.APPROVAL)
_NEWS = Prepared(
    sa.update(_s)
    .where(schema.THIS_SESSION, _s.c.updated_at < sa.bindparam("at"))
    .values(updated_at=sa.bindparam("at"))
)
_PARTS = Prepared(sa.select(_p).where(_p.c.outbound_id == sa.bindparam("o")).order_by(_p.c.idx))
PART_INSERT = Prepared(sa.insert(_p))
_PART = sa.update(_p).where(_p.c.outbound_id == sa.bindparam("o"), _p.c.idx == sa.bindparam("n"))
_PART_STATE = Prepared(_PART.values(state=sa.bindparam("s")))
_PART_SENT = Prepared(_PART.values(state=sa.bindparam("s"), receipt=sa.bindparam("r")))
# A part in doubt may have been applied at any time since its first send began.
_PART_BEGUN = Prepared(
    _PART.values(
        state="sending",
        began_at=sa.case((_p.c.state == "sending", _p.c.began_at), else_=sa.bindparam("now")),
    )
)
_OF_MESSAGE = (_p.c.outbound_id == sa.bindparam("o"), _p.c.idx >= sa.bindparam("n"))
_PARTS_GONE = Prepared(sa.delete(_p).where(*_OF_MESSAGE))


def owe(unit: Unit, session_key: str, run_id: str, messages: Sequence[OutboundMessage]) -> None:
    """Create the rows, once per key. The row of a preview that is shown becomes the message's."""
    for message in messages:
        now = unit.now
        settled = {
            "state": "direct" if message.direct else "pending",
            "settled_at": now if message.direct else None,
        }
        row = values(message, session_key, run_id, now)
        insert_or_set(
            unit,
            _o,
            ("body", "state", "created_at", "settled_at"),
            {**row, **settled},
            key=("key",),
            only=schema.OUTBOUND_PREVIEW,
        )


def values(message: OutboundMessage, session_key: str, run_id: str, now: float) -> dict[str, Any]:
    """The row of a new message, without its state."""
    return {
        "key": message.key,
        "session_key": session_key,
        "run_id": run_id,
        "channel": message.address.channel,
        "chat_id": message.address.chat_id,
        "body": msgspec.json.encode(message),
        "created_at": now,
    }


def performed(unit: Unit, inbound_id: int, answer: OutboundMessage | None) -> bool:
    session_key = inbox.performed(unit, inbound_id)
    if session_key is not None and answer is not None:
        owe(unit, session_key, "", [answer])
    return session_key is not None


def post(unit: Unit, session_key: str, message: OutboundMessage) -> None:
    """See Journal.post. A key is posted once."""
    if _BY_KEY.execute(unit, key=message.key).first() is not None:
        return
    log.ensure_session(unit, session_key, message.text)
    lane = log.lane_of(unit, session_key)
    entry = PostEntry(
        text=message.text, key=message.key, tainted=message.tainted, label=message.label
    )
    log.append(unit, lane, "", [entry])
    owe(unit, session_key, "", [message])
    if message.kind is OutboundKind.POST and not message.requested:
        unit.writer.notifications.posted(unit, message)


def owed_chats(unit: Unit, channel: str) -> list[Address]:
    owed = [Address(channel, chat) for chat, _ in _OWED.execute(unit, c=channel)]
    others = unit.writer.chats.others(unit, owed)
    return [address for address in owed if address not in others]


def next_outbound(connection: Connection, address: Address) -> OutboundRow | None:
    row = _NEXT.execute(connection, c=address.channel, chat=address.chat_id).first()
    if row is None:
        return None
    rendered = row.state == "sending" or row.attempts
    return _as_row(row, _parts(connection, row.id) if rendered else ())


def find(connection: Connection, key: str) -> OutboundRow | None:
    """The message with that key, in any state."""
    row = connection.execute(sa.select(*COLUMNS).where(_o.c.key == key)).first()
    return None if row is None else with_parts(connection, row)


def close_preview(unit: Unit, run_id: str, key: str, bodies: Sequence[Body]) -> None:
    """The run has ended without a message for that key: the preview becomes the text written so
    far, with a line that it was stopped."""
    row = find(unit, key)
    if row is None or row.state != "preview":
        return
    if not row.parts:
        unit.execute(sa.delete(_o).where(_o.c.id == row.id))
        return
    texts = [body.text for body in bodies if isinstance(body, ReplyEntry) and body.text]
    text = f"{(texts or [row.message.text])[0]}\n\n{STOPPED_LINE}".strip()
    message = msgspec.structs.replace(row.message, text=text)
    owe(unit, row.session_key, run_id, [message])


def _parts(connection: Connection, outbound_id: int) -> tuple[PartRow, ...]:
    return tuple(map(_as_part, _PARTS.execute(connection, o=outbound_id)))


def with_parts(connection: Connection, row: sa.Row[*tuple[Any, ...]]) -> OutboundRow:
    """Convert a row of COLUMNS."""
    return _as_row(row, _parts(connection, row.id))


def _as_row(row: sa.Row[*tuple[Any, ...]], parts: tuple[PartRow, ...]) -> OutboundRow:
    plain = {name: getattr(row, name) for name in _PLAIN}
    repeated = bool(row.maybe_duplicate)  # SQLite has numbers
    message = _decoder.decode(row.body)
    return OutboundRow(**plain, maybe_duplicate=repeated, message=message, parts=parts)


def begin_send(
    unit: Unit, row: OutboundRow, parts: Sequence[OutboundPart], idx: int, *, duplicate: bool
) -> None:
    unit.writer.chats.fence(unit, row.message.address)
    refusal = Fenced(f"message {row.id} is no longer unsent")
    _SENDING.change_one(unit, refusal, o=row.id, dup=duplicate, n=int(duplicate))
    now = unit.now
    if not parts:
        _PART_BEGUN.execute(unit, o=row.id, n=idx, now=now)
        return
    if row.attempts:
        _PARTS_GONE.execute(unit, o=row.id, n=idx)
    rows = part_values(row.id, parts, ("sending", now), row.standing, idx)
    PART_INSERT.many(unit, rows)


def receipt(
    unit: Unit, row: OutboundRow, idx: int, message_id: str, *, begin: int | None
) -> OutboundRow | None:
    unit.writer.chats.fence(unit, row.message.address)
    state = "preview" if row.state == "preview" else "sent"
    _PART_SENT.execute(unit, o=row.id, n=idx, s=state, r=message_id)
    if row.state == "preview":
        return None
    if begin is not None:
        _PART_BEGUN.execute(unit, o=row.id, n=begin, now=unit.now)
        return None
    if row.message.address.channel != WEB:
        _READ.execute(unit, k=row.session_key, at=row.created_at)
    elif row.message.kind in _BESIDE_THE_LOG:
        _NEWS.execute(unit, k=row.session_key, at=unit.now)
    for hook in unit.writer.arrives:
        hook.arrives(unit, row)
    _DONE.execute(unit, o=row.id, now=unit.now)
    nothing_follows(unit)
    return next_outbound(unit, row.message.address)


def defer(unit: Unit, row: OutboundRow, idx: int, not_before: float, error: str) -> None:
    unit.writer.chats.fence(unit, row.message.address)
    if row.state == "preview":
        _PARTS_GONE.execute(unit, o=row.id, n=0)
        return
    # The doubt about earlier attempts remains: this one was not applied, but they may have been.
    if not any(part.idx == idx and part.state in ("sending", "preview") for part in row.parts):
        _PART_STATE.execute(unit, o=row.id, n=idx, s="pending")
    _LATER.execute(unit, o=row.id, at=not_before, e=error)


def bury(unit: Unit, row: OutboundRow, error: str, *, scope: BuryScope) -> int:
    address = row.message.address
    unit.writer.chats.fence(unit, address)
    query = sa.select(_o.c.id, _o.c.session_key, _o.c.run_id, _o.c.body).where(schema.OUTBOUND_OPEN)
    if scope == "message":
        query = query.where(_o.c.id == row.id)
    else:
        query = query.where(_o.c.channel == address.channel, _o.c.chat_id == address.chat_id)
    if scope == "chat":
        chats.refused(unit, address, error)
    dead = 0
    for identity, session_key, run_id, body in unit.execute(query.order_by(_o.c.id)).all():
        message = _decoder.decode(body)
        if scope == "thread" and message.address != address:
            continue
        dead += 1
        _DEAD.execute(unit, o=identity, e=error, now=unit.now)
        text = f"This was not delivered ({error}): {message.text[:200]}"
        if log.exists(unit, session_key):
            lane = log.lane_of(unit, session_key)
            log.append(unit, lane, run_id, [UndeliveredEntry(text=text)])
    return dead


def _as_part(row: sa.Row[*tuple[Any, ...]]) -> PartRow:
    """A row as the type of the port."""
    files = () if row.file is None else _as_files(row.file)
    part = OutboundPart(
        text=row.text,
        payload=bytes(row.payload),
        key=row.key,
        file=files[0] if files else None,
        others=files[1:],
    )
    began_at = row.began_at or 0.0
    return PartRow(idx=row.idx, part=part, state=row.state, receipt=row.receipt, began_at=began_at)


def part_values(
    outbound_id: int,
    parts: Sequence[OutboundPart],
    first: tuple[str, float],
    standing: str | None = None,
    idx: int = 0,
) -> list[dict[str, Any]]:
    """The rows of a message's parts from `idx` on, the first of them with this state and time. They
    replace the message that is shown there."""
    return [
        {
            "outbound_id": outbound_id,
            "idx": number,
            "text": part.text,
            "payload": part.payload,
            "key": part.key,
            "state": "pending" if number > idx else first[0],
            "began_at": None if number > idx else first[1],
            "receipt": None if number else standing,
            "file": None if part.file is None else _of_files(part.file, part.others),
        }
        for number, part in enumerate(parts[idx:], idx)
    ]


def _of_files(file: Attachment, others: tuple[Attachment, ...]) -> bytes:
    """A single file as a value, several as a list."""
    return msgspec.json.encode([file, *others] if others else file)


def _as_files(kept: bytes) -> tuple[Attachment, ...]:
    files = _files.decode(kept)
    return (files,) if isinstance(files, Attachment) else tuple(files)
