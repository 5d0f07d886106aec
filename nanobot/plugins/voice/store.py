"""Answers to be spoken, over SQL: queued with the answer, settled with the sound."""

from __future__ import annotations

from typing import Any

import msgspec
import sqlalchemy as sa

from nanobot.boundary import boundary
from nanobot.messages import Address, InboundMessage, Origin, OutboundKind, OutboundMessage
from nanobot.plugins.common.store import trigger_tables
from nanobot.plugins.voice import tables
from nanobot.plugins.voice.settings import VoiceSettings
from nanobot.plugins.voice.speaking import VoiceAnswer
from nanobot.session import keys
from nanobot.session.auxiliary import AuxiliaryCall, NoReservation, Reservation
from nanobot.session.runs import Ending, Run
from nanobot.session.states import RunKind, RunState
from nanobot.session.store_write import StoreWrite
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.database.dialect import insert_ignore
from nanobot.store.database.prepared import Prepared
from nanobot.store.journal import log, outbox, runs
from nanobot.store.unit import Unit, start_auxiliary
from nanobot.store.verbs import SqlStore, transaction

_v = tables.voice_answers
_i = schema.inbound
_k = trigger_tables.trigger_state
_r = schema.runs

_TAKEN_SECONDS = 300.0
"""How long a worker may hold an answer before another process takes it."""
_UNREADABLE_SECONDS = 600.0
"""How long an answer with unreadable rows is left alone."""
_AT_ONCE = 8
"""How many answers of deleted conversations are removed per transaction."""


def _is_due(now: sa.ColumnElement[float]) -> sa.ColumnElement[bool]:
    """Whether no worker holds it. A time further ahead than any hold was set before the clock was
    set back.
    """
    return sa.or_(_v.c.not_before <= now, _v.c.not_before > now + 2 * _UNREADABLE_SECONDS)


_HEARD = Prepared(
    sa.select(_i.c.body).where(
        _i.c.session_key == sa.bindparam("k"), schema.INBOUND_OPEN, _i.c.run_id == sa.bindparam("r")
    )
)
_DUE = (
    sa.select(_v)
    .where(_is_due(sa.bindparam("now")))
    .order_by(_v.c.at)
    .limit(_AT_ONCE)
    .with_for_update(skip_locked=True)
)


class SqlVoiceHook:
    """See store.unit.EndHook: queues spoken answers to voice messages."""

    def __init__(self, settings: VoiceSettings) -> None:
        self._always = settings.answers == "always"

    def ends(self, unit: Unit, run: Run, ending: Ending) -> None:
        answered = run.kind is RunKind.CHAT and run.origin is Origin.USER
        if not answered or ending.state is not RunState.COMPLETED:
            return
        answer = next((reply for reply in ending.outbound if reply.key == run.reply_key), None)
        if answer is None or not _for_all_ears(answer):
            return
        if self._always or _was_spoken_to(unit, run):
            row = {"key": answer.key, "run_id": run.id, "at": unit.now}
            insert_ignore(unit, _v, row)


def _taken(connection: Connection, row: Any, now: float) -> VoiceAnswer | None:
    """Take the answer; None if its conversation was deleted."""
    answer = outbox.find(connection, row.key)
    run = connection.execute(sa.select(_r.c.id).where(_r.c.id == row.run_id)).first()
    if answer is None or run is None:
        _settle(connection, row.key)
        return None
    owed = VoiceAnswer(
        run_id=row.run_id,
        answer=answer.message,
        at=float(row.at),
        attempts=int(row.attempts),
    )
    taken = {"not_before": now + _TAKEN_SECONDS, "attempts": owed.attempts + 1}
    connection.execute(sa.update(_v).where(_v.c.key == row.key).values(**taken))
    return owed


def _for_all_ears(answer: OutboundMessage) -> bool:
    hidden = answer.direct or answer.failed or answer.only_for
    return answer.kind is OutboundKind.REPLY and bool(answer.text.strip()) and not hidden


def _was_spoken_to(connection: Connection, run: Run) -> bool:
    """Whether the run answers a recording that could be transcribed."""
    return any(
        file.kind == "audio" and file.text
        for (body,) in _HEARD.execute(connection, k=run.session_key, r=run.id)
        for file in msgspec.json.decode(body, type=InboundMessage).attachments
    )


class SqlVoiceAnswers(SqlStore):
    """See speaking.VoiceAnswers: the same code for SQLite and PostgreSQL."""

    async def recover(self) -> None:
        if self.writer.lease is None:  # no other worker can hold them
            free = sa.update(_v).where(_v.c.not_before > 0).values(not_before=0)
            await self.database.transact(lambda c: c.execute(free), "voice_recover")

    async def take(self) -> VoiceAnswer | None:
        more = await self._any_due()
        while more:
            taken, more = await self._take()
            if taken is not None:
                return taken
        return None

    @transaction()
    def _any_due(self, unit: Unit) -> bool:
        due = sa.select(_v.c.key).where(_is_due(sa.literal(unit.now))).limit(1)
        return unit.scalar(due) is not None

    @transaction("voice_take")
    def _take(self, unit: Unit) -> tuple[VoiceAnswer | None, bool]:
        """The next answer, if it is among the oldest few; and whether there may be more."""
        now = unit.now
        rows = unit.execute(_DUE, {"now": now}).all()
        for row in rows:
            taken = None
            with boundary(f"speaking {row.key}") as caught:
                taken = _taken(unit, row, now)
            if taken is not None:
                return taken, True
            if caught.error is not None:  # the next ones do not wait for it
                later = sa.update(_v).where(_v.c.key == row.key)
                unit.execute(later.values(not_before=now + _UNREADABLE_SECONDS))
        return None, len(rows) == _AT_ONCE

    @transaction("voice_reserve")
    def reserve(self, unit: Unit, owed: VoiceAnswer, call: AuxiliaryCall) -> Reservation:
        run = unit.execute(sa.select(_r).where(_r.c.id == owed.run_id)).first()
        if run is None:
            return NoReservation(call.max_tokens)
        lane = log.lane_of(unit, run.session_key)
        return start_auxiliary(unit, lane, runs.as_run(run), call)

    @transaction("voice_made")
    def made(
        self,
        unit: Unit,
        owed: VoiceAnswer,
        message: OutboundMessage,
        call: StoreWrite,
    ) -> None:
        call.write(unit)
        if self._owe(unit, owed, message):
            unit.execute(sa.delete(_k).where(_k.c.name == _failing(message.address)))

    @transaction("voice_failed")
    def failed(
        self,
        unit: Unit,
        owed: VoiceAnswer,
        notice: OutboundMessage | None,
        call: StoreWrite | None,
    ) -> bool:
        if call is not None:
            call.write(unit)
        if notice is None:
            return _settle(unit, owed.answer.key) and False
        now = unit.now
        row = {"name": _failing(notice.address), "body": b"", "changed_at": now}
        if insert_ignore(unit, _k, row, _k.c.name) is None:
            return _settle(unit, owed.answer.key) and False
        return self._owe(unit, owed, notice)

    def _owe(self, unit: Unit, owed: VoiceAnswer, message: OutboundMessage) -> bool:
        """Settle the answer by queueing a message; False if it was settled or deleted in the
        meantime.
        """
        answer = outbox.find(unit, owed.answer.key)
        if not _settle(unit, owed.answer.key) or answer is None or not answer.message.text:
            return False
        outbox.owe(unit, answer.session_key, owed.run_id, [message])
        return True


def _settle(connection: Connection, key: str) -> bool:
    return connection.execute(sa.delete(_v).where(_v.c.key == key)).rowcount == 1


def _failing(address: Address) -> str:
    return f"voice:{keys.chat(address)}"
