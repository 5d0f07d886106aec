"""Commands in progress, which no run takes, and what programs ask of the run of their message."""

from __future__ import annotations

import msgspec
import sqlalchemy as sa

from nanobot.messages import Address, InboundMessage, OutboundMessage
from nanobot.session import keys
from nanobot.session.entries import Entry
from nanobot.session.inbox import BegunCommand
from nanobot.session.runs import Ending, Run, RunOutcome, RunUsage
from nanobot.session.states import RunState
from nanobot.store.database import message_tables as schema
from nanobot.store.database.connection import Connection
from nanobot.store.journal import inbox, lanes, log, outbox, runs
from nanobot.store.journal.claiming import MOST_READ
from nanobot.store.unit import Unit

_i = schema.inbound
_o = schema.outbound
_r = schema.runs
_message = msgspec.json.Decoder(InboundMessage)


def begun_commands(connection: Connection, channel: str) -> list[BegunCommand]:
    query = sa.select(_i.c.id, _i.c.body).where(
        schema.INBOUND_OPEN,
        _i.c.state == "performing",
        # Concatenated with nothing, or SQLite would read all messages that ever came from there.
        _i.c.channel.concat("") == channel,
    )
    rows = connection.execute(query.order_by(_i.c.id + 0)).all()  # uses the index of open ones
    return [BegunCommand(row.id, _message.decode(row.body)) for row in rows]


def performed(unit: Unit, inbound_id: int, answer: OutboundMessage | None) -> bool:
    settled = unit.execute(
        sa.update(_i)
        .where(_i.c.id == inbound_id, _i.c.state == "performing")
        .values(state="settled")
        .returning(_i.c.session_key)
    ).first()
    if settled is None:
        return False
    if answer is not None:
        outbox.owe(unit, settled.session_key, "", [answer])
    return True


def history(connection: Connection, session_key: str) -> tuple[Entry, ...]:
    session = lanes.look(connection, session_key)
    if session is None:
        return ()
    return log.read(connection, session_key, max(session.window_from, session.head_seq - MOST_READ))


def outcome(connection: Connection, address: Address, run_id: str) -> RunOutcome | None:
    request = connection.execute(_taken_as(address, run_id)).first()
    if request is None:
        return None
    result = RunOutcome(
        run_id=run_id,
        session_key=request.session_key,
        message=_message.decode(request.body),
        state=RunState.QUEUED if request.state == "pending" else RunState.ABORTED,
    )
    row = connection.execute(sa.select(_r).where(_r.c.id == run_id)).first()
    if row is None:
        return result
    answer = sa.select(_o.c.body).where(_o.c.key == keys.answer(run_id), _o.c.state != "preview")
    body = connection.scalar(answer)
    return msgspec.structs.replace(
        result,
        state=RunState(row.state),
        text="" if body is None else msgspec.json.decode(body)["text"],
        error=row.error,
        usage=RunUsage() if row.usage is None else msgspec.json.decode(row.usage, type=RunUsage),
    )


def abort(unit: Unit, address: Address, run_id: str, ending: Ending) -> Run | None:
    request = unit.execute(_taken_as(address, run_id)).first()
    if request is None:
        return None
    if request.state == "pending" and not runs.is_known(unit, run_id):
        inbox.settle_one(unit, request.id)
        return None
    return runs.cancel(unit, run_id, ending, "caller")


def _taken_as(address: Address, run_id: str) -> sa.Select[tuple[int, str, str, bytes]]:
    return sa.select(_i.c.id, _i.c.session_key, _i.c.state, _i.c.body).where(
        _i.c.channel == address.channel,
        _i.c.chat_id == address.chat_id,
        _i.c.dedupe_key == run_id,
    )
