"""Messages that were admitted and are not yet answered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import sqlalchemy as sa

from nanobot import labels
from nanobot.labels import NOTHING, UNKNOWN, Label
from nanobot.messages import (
    Attachment,
    InboundMessage,
    Origin,
    OutboundKind,
    OutboundMessage,
    Role,
)
from nanobot.session.entries import UserEntry
from nanobot.session.inbox import FETCHING_SECONDS, Admission, BegunCommand, Unfetched
from nanobot.session.labelling import of_message
from nanobot.session.runs import kind_for
from nanobot.session.states import RunKind
from nanobot.store.database import message_tables as schema
from nanobot.store.database.connection import Connection
from nanobot.store.database.dialect import insert_ignore
from nanobot.store.database.prepared import Prepared, Values
from nanobot.store.database.results import PreparedResult
from nanobot.store.unit import Unit

_i = schema.inbound
_o = schema.outbound
_p = schema.outbound_parts
_decoder = msgspec.json.Decoder(InboundMessage)
_answer = msgspec.json.Decoder(OutboundMessage)

MOST_HELD_SECONDS = 10.0
"""Maximum time that a burst is held back after its first message was due."""

_QUOTABLE = 2_000
"""Quotes are looked up among this many messages, the latest of all chats."""

_HERE = (_i.c.session_key == sa.bindparam("k"), schema.INBOUND_OPEN, _i.c.state == "pending")
NEXT = Prepared(
    sa.select(_i.c.id, _i.c.role, _i.c.not_before, _i.c.body, _i.c.awaiting_files, _i.c.at)
    .where(*_HERE)
    .order_by(_i.c.id)
    .limit(100)
)
_ANY = Prepared(sa.select(_i.c.id).where(*_HERE).limit(1))
_TAKE = Prepared(
    sa.update(_i)
    .where(_i.c.id == sa.bindparam("i"), _i.c.state == "pending")
    .values(state="taken", run_id=sa.bindparam("r"))
)
_SETTLE = Prepared(
    sa.update(_i)
    .where(
        _i.c.session_key == sa.bindparam("k"), schema.INBOUND_OPEN, _i.c.run_id == sa.bindparam("r")
    )
    .values(state="settled")
)


class Pending(msgspec.Struct, frozen=True):
    """A waiting message."""

    id: int
    role: Role
    not_before: float
    message: InboundMessage
    files_until: float = 0.0
    at: float = 0.0

    def lacks_files(self, now: float) -> bool:
        """Whether its files are still waited for. A clock that was set back a long way since it
        came would make that wait too long."""
        return bool(self.files_until) and abs(now - self.at) < FETCHING_SECONDS

    @property
    def alone(self) -> bool:
        """Whether it gets a separate run: a command, or a message with its run's id."""
        options = self.message.options
        return self.message.command is not None or (options is not None and bool(options.run_id))


def pending(connection: Connection, key: str) -> list[Pending]:
    """The waiting messages of a lane, in order of arrival."""
    return as_pending(NEXT.execute(connection, k=key))


def as_pending(rows: PreparedResult) -> list[Pending]:
    """Convert rows."""
    return [
        Pending(number, Role(role), held, _decoder.decode(body), files_until(waits, at), at)
        for number, role, held, body, waits, at in rows
    ]


def files_until(awaiting_files: bool, at: float) -> float:  # noqa: FBT001 - a column
    """How long a message waits for its files; 0 if it does not."""
    return at + FETCHING_SECONDS if awaiting_files else 0.0


def held_yet(until: float, at: float, now: float) -> float:
    """Seconds that a message which came at `at` is still held. If that is more than at first, the
    clock was set back, and it is no longer held."""
    left = until - now
    return left if 0 < left <= until - at else 0.0


def any_waiting(connection: Connection, key: str) -> bool:
    """Whether messages wait in the lane."""
    return _ANY.execute(connection, k=key).first() is not None


def one_turn(waiting: Sequence[Pending]) -> list[Pending]:
    """The messages that the next run answers together: the first, and those directly after it from
    the same person and address. Anything but a person's message runs alone."""
    if not waiting:
        return []
    first = waiting[0]
    if first.alone or first.message.origin is not Origin.USER:
        return [first]
    together = [first]
    for other in waiting[1:]:
        if not same_speaker(first, other):
            break
        together.append(other)
    return together


def here(turn: Sequence[Pending], now: float) -> Sequence[Pending]:
    """The messages of a turn before the first whose files are still being fetched. The other parts
    of that message's group wait too."""
    for end, pending in enumerate(turn):
        if pending.lacks_files(now):
            group = pending.message.group_id
            while end and group is not None and turn[end - 1].message.group_id == group:
                end -= 1  # noqa: PLW2901 - the loop ends here
            return turn[:end]
    return turn


def same_speaker(first: Pending, other: Pending) -> bool:
    """Whether `other` may be answered in the run of `first`."""
    return (
        other.message.origin is Origin.USER
        and not other.alone
        and other.message.sender.id == first.message.sender.id
        and other.message.address == first.message.address
    )


def held_until(turn: Sequence[Pending]) -> float:
    """When a turn may be taken: after the last message was held long enough, but with a maximum
    even if more keep coming. 0: at once."""
    longest = max((pending.not_before for pending in turn), default=0.0)
    first = min((pending.not_before for pending in turn if pending.not_before), default=0.0)
    return min(longest, first + MOST_HELD_SECONDS)


def hold(turn: Sequence[Pending], now: float) -> float:
    """Seconds that a turn is still held. A clock that was set back does not extend it."""
    if turn and not here(turn, now):
        left = min(pending.files_until for pending in turn if pending.lacks_files(now)) - now
        return min(left, FETCHING_SECONDS)
    left = held_until(turn) - now
    longest = MOST_HELD_SECONDS + max(
        (pending.not_before - pending.at for pending in turn), default=0.0
    )
    return left if 0 < left <= longest else 0.0


def insert(unit: Unit, admission: Admission) -> int | None:
    """Insert a message that waits; returns its id, or None if it is known."""
    return insert_row(unit, row_of(admission, unit.now, waits=True, held=0.0, account=0))


def insert_row(connection: Connection, row: Values) -> int | None:
    """Insert a row of `row_of`; returns its id, or None if the message is known."""
    identity: int | None = insert_ignore(connection, _i, row, _i.c.id)
    return identity


def row_of(
    admission: Admission, now: float, *, waits: bool, held: float, account: int
) -> dict[str, Any]:
    """The row of a message that comes now and waits, or is settled already."""
    message = admission.message
    return {
        "session_key": admission.session_key,
        "channel": message.address.channel,
        "chat_id": message.address.chat_id,
        "dedupe_key": message.dedupe_key,
        "account": account,
        "sender_id": message.sender.id,
        "role": admission.role,
        "origin": message.origin,
        "state": "pending" if waits else "performing" if admission.performing else "settled",
        "at": now,
        "not_before": now + held if held else 0.0,
        "awaiting_files": waits and admission.awaiting_files,
        "body": msgspec.json.encode(message),
    }


def take(connection: Connection, run_id: str, taken: Sequence[Pending]) -> None:
    """Mark messages as taken by a run."""
    for pending in taken:
        _TAKE.execute(connection, i=pending.id, r=run_id)


def settle(connection: Connection, key: str, run_id: str) -> None:
    """Mark the run's messages as settled: their answer is in the outbox."""
    _SETTLE.execute(connection, k=key, r=run_id)


def settle_waiting(connection: Connection, key: str, sender_id: str | None) -> list[str]:
    """Drop a sender's waiting messages (None: everyone's); returns their texts, oldest first."""
    query = sa.update(_i).where(
        _i.c.session_key == key, schema.INBOUND_OPEN, _i.c.state == "pending"
    )
    if sender_id is not None:
        query = query.where(_i.c.sender_id == sender_id)
    dropped = connection.execute(query.values(state="settled").returning(_i.c.id, _i.c.body)).all()
    messages = [_decoder.decode(body) for _, body in sorted(dropped)]
    return [message.text for message in messages if message.origin is Origin.USER]


def settle_one(connection: Connection, identity: int) -> None:
    """Settle this message."""
    connection.execute(sa.update(_i).where(_i.c.id == identity).values(state="settled"))


def label_of(connection: Connection, pending: Pending) -> Label:
    """The label of a message. If it quotes an answer it also gets that answer's label, because /new
    may have removed the answer from view."""
    return of_message(pending.message, pending.role).join(_quoted(connection, pending.message))


def as_entry(
    connection: Connection, pending: Pending, zone: str, *, steered: bool = False
) -> UserEntry:
    """A message as an entry."""
    message, label = pending.message, label_of(connection, pending)
    return UserEntry(
        text=message.text,
        address=message.address,
        sender_id=message.sender.id,
        sender_name=message.sender.name,
        role=pending.role,
        sent_at=message.sent_at,
        zone=zone,
        inbound_id=pending.id,
        message_id=message.message_id,
        reply_to=message.reply_to,
        quote=message.quote,
        edited=message.edit_of is not None,
        attachments=message.attachments,
        origin=message.origin,
        steered=steered,
        group=message.group,
        tainted=label.tainted,
        label=label.encoded(),
        command=message.command,
        options=message.options,
        kept=message.kept,
    )


def _quoted(connection: Connection, message: InboundMessage) -> Label:
    """The label of the answer that a message quotes, if it is one of the latest here."""
    if not message.quote or not message.reply_to:
        return NOTHING
    newest = sa.select(sa.func.max(_o.c.id)).scalar_subquery()
    query = (
        sa.select(_o.c.body)
        .join(_p, _p.c.outbound_id == _o.c.id)
        .where(_o.c.id > newest - _QUOTABLE, schema.OUTBOUND_FOR_CHAT)
        .where(_o.c.channel == message.address.channel, _o.c.chat_id == message.address.chat_id)
        .where(_p.c.receipt == message.reply_to)
    )
    body = connection.scalar(query.limit(1))
    if body is None:
        return NOTHING
    try:
        answer = _answer.decode(body)
    except msgspec.DecodeError:  # its content is unknown
        return UNKNOWN
    return label_of_answer(answer)


def label_of_answer(answer: OutboundMessage) -> Label:
    """The label of one of our messages. Answers to commands, questions and drafts repeat any stored
    text, and their labels are known only if they are set."""
    if answer.label or answer.tainted or answer.kind is OutboundKind.POST:
        return labels.read(answer.label, tainted=answer.tainted)
    said = sum(end - start for start, end in answer.own_words)
    return NOTHING if said >= len(answer.text) else UNKNOWN


def begun_commands(connection: Connection, channel: str) -> list[BegunCommand]:
    rows = _open_of(connection, channel, _i.c.state == "performing")
    return [BegunCommand(row.id, _decoder.decode(row.body)) for row in rows]


def _open_of(
    connection: Connection, channel: str, *which: sa.ColumnElement[bool]
) -> Sequence[sa.Row[Any]]:
    """The open messages of a channel for which this holds, oldest first."""
    query = sa.select(_i.c.id, _i.c.at, _i.c.role, _i.c.body).where(
        schema.INBOUND_OPEN,
        *which,
        # Concatenated with nothing, or SQLite would read all messages that ever came from there.
        _i.c.channel.concat("") == channel,
    )
    return connection.execute(query.order_by(_i.c.id + 0)).all()  # uses the index of open ones


def performed(unit: Unit, inbound_id: int) -> str | None:
    """Settle a command in progress; returns its session, or None if it was settled before."""
    query = sa.update(_i).where(_i.c.id == inbound_id, _i.c.state == "performing")
    key: str | None = unit.scalar(query.values(state="settled").returning(_i.c.session_key))
    return key


def unfetched(connection: Connection, channel: str) -> list[Unfetched]:
    rows = _open_of(connection, channel, _i.c.state == "pending", _i.c.awaiting_files)
    return [Unfetched(r.id, r.at, _decoder.decode(r.body), Role(r.role)) for r in rows]


def fetched(
    connection: Connection, inbound_id: int, attachments: Sequence[Attachment]
) -> tuple[str, RunKind] | None:
    """See Journal.fetched. An edit may have changed the files meanwhile."""
    columns = (_i.c.session_key, _i.c.origin, _i.c.state, _i.c.body)
    query = sa.select(*columns).where(_i.c.id == inbound_id, _i.c.awaiting_files).with_for_update()
    row = connection.execute(query).first()
    if row is None:
        return None
    message = _decoder.decode(row.body)
    by_ref = {file.ref: file for file in attachments if file.ref}
    left = replace(
        connection, inbound_id, message, [by_ref.get(a.ref, a) for a in message.attachments]
    )
    if left or row.state != "pending":
        return None
    return row.session_key, kind_for(Origin(row.origin))


def replace(
    connection: Connection,
    identity: int,
    message: InboundMessage,
    attachments: Sequence[Attachment],
    *,
    awaiting_files: bool = True,
) -> bool:
    """Store the message with these files; returns whether some are still to be fetched."""
    left = awaiting_files and any(file.coming for file in attachments)
    body = msgspec.structs.replace(message, attachments=tuple(attachments))
    changed = sa.update(_i).where(_i.c.id == identity)
    connection.execute(changed.values(body=msgspec.json.encode(body), awaiting_files=left))
    return left
