"""The door: messages committed with their channel's cursor, once each, before anybody is told."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import sqlalchemy as sa

from nanobot.bus.events import OutboundKind, OutboundMessage
from nanobot.journal import Admission, Admitted, Run
from nanobot.store import inbox, log, outbox, runs, schema
from nanobot.store.dialect import alone, insert_ignore
from nanobot.store.hot import hot
from nanobot.store.unit import Writer

_c = schema.channels
_i = schema.inbound

_SEEN = sa.select(_i.c.id).where(
    _i.c.channel == sa.bindparam("c"),
    _i.c.chat_id == sa.bindparam("chat"),
    _i.c.dedupe_key == sa.bindparam("d"),
)
_WAITING = sa.select(sa.func.count()).where(
    _i.c.session_key == sa.bindparam("k"), schema.INBOUND_OPEN, _i.c.state == "pending"
)
_CURSOR = sa.select(_c.c.cursor).where(_c.c.name == sa.bindparam("n"))
_MOVE_CURSOR = sa.update(_c).where(_c.c.name == sa.bindparam("n")).values(cursor=sa.bindparam("v"))
hot(_SEEN, _WAITING, _CURSOR, _MOVE_CURSOR)


def cursor(connection: sa.Connection, channel: str) -> str | None:
    """Where a channel's intake stands."""
    found: str | None = connection.scalar(_CURSOR, {"n": channel})
    return found


def set_cursor(connection: sa.Connection, channel: str, value: str) -> None:
    """Move a channel's cursor."""
    moved = connection.execute(_MOVE_CURSOR, {"n": channel, "v": value})
    if moved.rowcount == 0:
        connection.execute(sa.insert(_c), {"name": channel, "cursor": value})


def admit(
    connection: sa.Connection,
    writer: Writer,
    channel: str,
    admissions: Sequence[Admission],
    value: str | None,
    lane_limit: int,
) -> list[Admitted]:
    """See Journal.admit."""
    if len(admissions) > 1:
        # Two batches with the same messages in another order would wait for each other.
        alone(connection, f"admit {channel}")
    done = [_admit_one(connection, writer, one, lane_limit) for one in admissions]
    if value is not None:
        set_cursor(connection, channel, value)
    return done


def _admit_one(
    connection: sa.Connection, writer: Writer, one: Admission, lane_limit: int
) -> Admitted:
    message = one.message
    address = message.address
    key = {"c": address.channel, "chat": address.chat_id, "d": message.dedupe_key}
    kind = inbox.kind_for(message.origin)
    again = Admitted(inbound_id=0, session_key=one.session_key, kind=kind, fresh=False)
    if connection.execute(_SEEN, key).first() is not None:
        return again
    log.ensure_session(connection, writer, one.session_key, message.text)
    answer = one.answer
    refused = False
    if answer is None and one.stop is None:
        waiting = connection.scalar(_WAITING, {"k": one.session_key}) or 0
        refused = waiting >= lane_limit
        answer = _too_many(one, waiting) if refused else None
    identity = _insert(connection, writer, one, waits=answer is None and one.stop is None)
    if identity is None:
        return again  # another process took it in at this very moment
    stopped: Run | None = None
    if one.stop is not None:
        stopped = runs.stop(connection, writer, one)
    if answer is not None:
        outbox.owe(connection, writer, one.session_key, "", [answer])
    owes = answer is not None or one.stop is not None
    return Admitted(
        inbound_id=identity,
        session_key=one.session_key,
        kind=kind,
        fresh=True,
        refused=refused,
        owes=address if owes else None,
        stopped=stopped,
    )


def _insert(
    connection: sa.Connection, writer: Writer, one: Admission, *, waits: bool
) -> int | None:
    message = one.message
    values = {
        "session_key": one.session_key,
        "channel": message.address.channel,
        "chat_id": message.address.chat_id,
        "dedupe_key": message.dedupe_key,
        "sender_id": message.sender.id,
        "role": one.role,
        "origin": message.origin,
        "state": "pending" if waits else "settled",
        "at": writer.clock.now(),
        "body": msgspec.json.encode(message),
    }
    identity: int | None = connection.scalar(insert_ignore(connection, _i, _i.c.id), values)
    return identity


def _too_many(one: Admission, waiting: int) -> OutboundMessage:
    message = one.message
    address = message.address
    return OutboundMessage(
        address=address,
        kind=OutboundKind.NOTICE,
        key=f"full:{address.channel}:{address.chat_id}:{message.dedupe_key}",
        reply_to=message.message_id,
        text=(
            f"I did not take this message: {waiting} are waiting here already. "
            "Please send it again when I have answered some, or /stop to drop them."
        ),
    )
