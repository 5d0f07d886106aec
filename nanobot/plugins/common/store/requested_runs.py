"""Runs that programs requested, by the address and the id of their message."""

from __future__ import annotations

import msgspec
import sqlalchemy as sa

from nanobot.messages import Address, InboundMessage
from nanobot.session import keys
from nanobot.session.runs import Ending, Run, RunUsage
from nanobot.session.states import RunState
from nanobot.store.database import message_tables as schema
from nanobot.store.database.connection import Connection
from nanobot.store.journal import inbox, runs
from nanobot.store.unit import Unit
from nanobot.store.verbs import SqlStore, verb

_i = schema.inbound
_o = schema.outbound
_r = schema.runs
_message = msgspec.json.Decoder(InboundMessage)


class RunOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a message's run; queued while it waits. `text`: its answer or error."""

    run_id: str
    session_key: str
    message: InboundMessage
    state: RunState
    text: str = ""
    error: str | None = None
    usage: RunUsage = RunUsage()


def outcome(connection: Connection, address: Address, run_id: str) -> RunOutcome | None:
    """The state of a run; None for one that nobody requested."""
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
    """End a run and return it, or withdraw its message if there is no run yet."""
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


class RequestedRuns(SqlStore):
    """The verbs, over the store of a journal."""

    outcome = verb(outcome)
    abort = verb(abort, "abort")
