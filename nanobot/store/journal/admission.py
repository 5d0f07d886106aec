"""Admission: messages are committed with their channel's cursor, once each, before any
follow-up."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import sqlalchemy as sa

from nanobot.messages import InboundMessage, Origin, OutboundKind, OutboundMessage, plausible
from nanobot.session import keys
from nanobot.session.inbox import Admission, Admitted, Busy
from nanobot.session.runs import Run
from nanobot.store.database import message_tables as schema
from nanobot.store.database.dialect import alone, insert_ignore, insert_or_set, nothing_follows
from nanobot.store.database.prepared import Prepared
from nanobot.store.database.results import PreparedResult
from nanobot.store.journal import accounts, chats, inbox, lanes, log, outbox, runs, titles
from nanobot.store.unit import StoreContext

_c = schema.channels
_i = schema.inbound
_s = schema.sessions

_THAT = sa.and_(
    _i.c.channel == sa.bindparam("c"),
    _i.c.chat_id == sa.bindparam("chat"),
    _i.c.dedupe_key == sa.bindparam("d"),
)
_NUMBERED = _i.c.account == sa.bindparam("a")
_SEEN = Prepared(sa.select(_i.c.id).where(_THAT, _NUMBERED))
_SEEN_OF_PERSON = Prepared(sa.select(_i.c.id).where(_THAT, _i.c.account == accounts.CURRENT))
_ORIGINAL = sa.select(_i.c.id, _i.c.sender_id, _i.c.state, _i.c.body).where(_THAT, _NUMBERED)
_SHARED = Prepared(
    sa.update(_s).where(_s.c.key == sa.bindparam("k"), ~_s.c.shared).values(shared=True)
)
_CURSOR = Prepared(sa.select(_c.c.cursor).where(_c.c.name == sa.bindparam("n")))


def cursor(connection: sa.Connection, channel: str) -> str | None:
    """The stored cursor of a channel's intake."""
    value: str | None = _CURSOR.scalar(connection, n=channel)
    return value


def set_cursor(connection: sa.Connection, channel: str, value: str) -> None:
    """Move a channel's cursor."""
    insert_or_set(connection, _c, "cursor", {"name": channel, "cursor": value})


class _Limits(msgspec.Struct, frozen=True):
    """Limits for the messages of one call of Journal.admit."""

    lane: int
    busy: Busy
    only: bool
    """It is the only message."""


def admit(  # noqa: PLR0913 - the parameters of the port
    connection: sa.Connection,
    writer: StoreContext,
    channel: str,
    admissions: Sequence[Admission],
    cursor: str | None,
    lane_limit: int,
    busy: Busy = Busy(),  # noqa: B008 - frozen
) -> list[Admitted]:
    if len(admissions) > 1:
        # Sorted, because two batches with the same messages in another order would deadlock.
        alone(connection, f"admit {channel}")
    if cursor is not None:
        set_cursor(connection, channel, cursor)
    limits = _Limits(lane_limit, busy, len(admissions) == 1)
    account = accounts.current(connection, channel)
    return [
        _admit_one(connection, writer, channel, admission, limits, account)
        for admission in admissions
    ]


def _admit_one(
    connection: sa.Connection,
    writer: StoreContext,
    channel: str,
    admission: Admission,
    limits: _Limits,
    current: PreparedResult,
) -> Admitted:
    message = plausible(admission.message, writer.clock.now())
    admission = msgspec.structs.replace(admission, message=message)
    address = message.address
    key: dict[str, str | int] = {"c": address.channel, "chat": address.chat_id}
    key["d"] = message.dedupe_key
    kind = inbox.kind_for(message.origin)
    again = Admitted(inbound_id=0, session_key=admission.session_key, kind=kind, fresh=False)
    if message.origin is Origin.USER:  # its account is not known yet: all is asked at once
        seen = _SEEN_OF_PERSON.execute(connection, {**key, "n": channel})
    else:
        seen = _SEEN.execute(connection, {**key, "a": 0})
    refusal = chats.REFUSAL.execute(connection, c=address.channel, chat=address.chat_id)
    exists = log.EXISTS.execute(connection, k=admission.session_key)
    others = runs.WAITING.execute(connection, k=admission.session_key)
    if seen.first() is not None:
        return again
    admission, account = accounts.of(admission, current.scalar() or 0)
    key["a"] = account
    if message.origin is Origin.USER and refusal.first() is not None:
        chats.reached(connection, address)
    titles.begin(connection, writer, admission, exists.first())
    if message.group:
        _SHARED.execute(connection, k=admission.session_key)
    answer = admission.answer
    waits = answer is None and admission.stop is None
    refused = False
    if waits and message.edit_of is not None:
        waits, answer = _edit(connection, admission, {**key, "d": message.edit_of})
    if waits:
        waiting = others.scalar() or 0
        refused = waiting >= limits.lane
        answer = _too_many(admission, waiting, account) if refused else None
        waits = not refused
    held = _hold(connection, admission, limits.busy) if waits else 0.0
    interrupts = waits and limits.busy.mode == "interrupt"
    if limits.only and answer is None and admission.stop is None and not interrupts:
        nothing_follows(connection)
    identity = insert(connection, writer, admission, waits=waits, held=held, account=account)
    if identity is None:
        return again  # another process admitted it at this moment
    if answer is not None:
        outbox.owe(connection, writer, admission.session_key, "", [answer])
    return Admitted(
        inbound_id=identity,
        session_key=admission.session_key,
        kind=kind,
        fresh=True,
        refused=refused,
        owes=None if answer is None and admission.stop is None else address,
        stopped=_ended(connection, writer, admission, limits.busy, waits=waits),
        held=held,
    )


def _edit(
    connection: sa.Connection, admission: Admission, original: dict[str, str | int]
) -> tuple[bool, OutboundMessage | None]:
    """Handle a new version of a message: whether it waits, and the notice to its sender. It waits
    like any other while a run answers the original, or if a group's original was not admitted (it
    did not mention the assistant). It replaces an original that no run has taken. If the original
    is answered it is not answered again, and the sender is told once."""
    message = admission.message
    lanes.lock(connection, admission.session_key)  # a claim may be reading the original
    row = connection.execute(_ORIGINAL, original).first()
    if row is None:
        return message.group, None
    if row.sender_id != message.sender.id:
        return False, None
    old = msgspec.json.decode(row.body, type=InboundMessage)
    if row.state == "pending":
        fetched = {file.ref: file for file in old.attachments if file.ref}
        files = [fetched.get(file.ref, file) for file in message.attachments]
        new = msgspec.structs.replace(old, text=message.text, command=message.command)
        inbox.replace(connection, row.id, new, files, awaiting_files=admission.awaiting_files)
    late = row.state == "settled" and message.text != old.text
    return bool(row.state == "taken"), _too_late(message, row.id) if late else None


def _hold(connection: sa.Connection, admission: Admission, busy: Busy) -> float:
    """Seconds to hold a message back, so that related messages are taken together."""
    if admission.message.origin is not Origin.USER:
        return 0.0
    if busy.mode == "collect" and runs.live(connection, admission.session_key):
        return busy.collect_seconds
    return busy.group_seconds if admission.message.group_id is not None else 0.0


def _ended(
    connection: sa.Connection,
    writer: StoreContext,
    admission: Admission,
    busy: Busy,
    *,
    waits: bool,
) -> Run | None:
    """The run that this message ends, by an order to stop or by an interrupt."""
    if admission.stop is not None:
        return runs.stop(connection, writer, admission)
    if waits and busy.mode == "interrupt" and admission.message.origin is Origin.USER:
        return runs.interrupt(connection, writer, admission)
    return None


def insert(
    connection: sa.Connection,
    writer: StoreContext,
    admission: Admission,
    *,
    waits: bool,
    held: float,
    account: int = 0,
) -> int | None:
    """Insert the message; returns its id, or None if it is known."""
    message = admission.message
    now = writer.clock.now()
    values = {
        "session_key": admission.session_key,
        "channel": message.address.channel,
        "chat_id": message.address.chat_id,
        "dedupe_key": message.dedupe_key,
        "account": account,
        "sender_id": message.sender.id,
        "role": admission.role,
        "origin": message.origin,
        "state": "pending" if waits else "settled",
        "at": now,
        "not_before": now + held if held else 0.0,
        "awaiting_files": waits and admission.awaiting_files,
        "body": msgspec.json.encode(message),
    }
    identity: int | None = insert_ignore(connection, _i, values, _i.c.id)
    return identity


def _too_late(message: InboundMessage, original: int) -> OutboundMessage:
    return OutboundMessage(
        address=message.address,
        kind=OutboundKind.NOTICE,
        key=keys.EDITED.of(original),
        reply_to=message.message_id,
        only_for=message.sender.id,
        text="I had already answered this. Send it again if you want a new answer.",
    )


def _too_many(admission: Admission, waiting: int, account: int) -> OutboundMessage:
    message = admission.message
    address = message.address
    return OutboundMessage(
        address=address,
        kind=OutboundKind.NOTICE,
        failed=True,
        key=keys.FULL.of(keys.message(address, message.dedupe_key))
        + (f"~{account}" if account else ""),
        reply_to=message.message_id,
        only_for=message.sender.id,
        text=(
            f"I did not take this message: {waiting} are waiting here already. "
            "Please send it again when I have answered some, or /stop to drop them."
        ),
    )
