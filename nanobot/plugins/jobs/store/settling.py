"""Settles the runs of jobs: reports the outcome in their chats or retries them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import sqlalchemy as sa

from nanobot import labels
from nanobot.messages import OutboundMessage
from nanobot.plugins.common.jobs.plans import Fired, silent
from nanobot.plugins.common.store.slices import Slice
from nanobot.plugins.jobs.rules import RETRIES, OpenTime, repeats
from nanobot.plugins.jobs.store import occurrences, pausing
from nanobot.plugins.jobs.store.effects import Effects
from nanobot.plugins.jobs.store.occurrences import Occurrence
from nanobot.plugins.jobs.store.rows import job_of
from nanobot.session import keys
from nanobot.store.database import schema
from nanobot.store.database.connection import Connection
from nanobot.store.database.dialect import alone
from nanobot.store.unit import Unit

_out = schema.outbound

_AT_ONCE = 200
_BEGIN = OpenTime(-1, 0.0)


def settle(unit: Unit, sessions: Sequence[str]) -> Fired:
    """See `JobStore.settle`."""
    alone(unit, "cron")
    effects, slice_ = Effects(unit), Slice(unit.writer.clock)
    for key in sessions:
        ended = occurrences.ended_in(unit, key, _AT_ONCE)
        for occurrence in ended:
            if not slice_.step():
                return effects.fired(more=True)
            _ended(effects, occurrence, occurrence.end or "cancelled")
        if len(ended) == _AT_ONCE:
            return effects.fired(more=True)
    return effects.fired()


def sweep(unit: Unit, after: OpenTime | None) -> tuple[Fired, OpenTime | None]:
    """See `JobStore.sweep`."""
    alone(unit, "cron")
    effects, slice_ = Effects(unit), Slice(unit.writer.clock)
    position = after or _BEGIN
    page = occurrences.open_after(unit, position, _AT_ONCE)
    for occurrence in page:
        if not slice_.step():
            return effects.fired(), position
        position = occurrence.position
        end = occurrence.end
        if end is not None:
            _ended(effects, occurrence, end)
        elif occurrence.inbound_state == "pending":
            effects.wake(occurrence.session_key)
        else:
            effects.watch(occurrence.session_key)
    return effects.fired(), position if len(page) == _AT_ONCE else None


def _ended(effects: Effects, occurrence: Occurrence, end: str) -> None:
    """Handle a run that has ended, or a message that was dropped before it became a run."""
    with effects.contained(f"job {occurrence.job_id}") as (own, caught):
        _settled(own, occurrence, end)
    if caught.error is not None:
        pausing.give_up(effects, occurrence, caught.error)


def _settled(effects: Effects, occurrence: Occurrence, end: str) -> None:
    job = job_of(effects.unit, occurrence.job_id)
    if repeats(job, end, occurrence.attempt):
        later = effects.now + RETRIES.delay(occurrence.attempt)
        values = {"status": "waiting", "retry_at": later, "error": occurrence.run_error}
        occurrences.update(effects.unit, occurrence, **values)
        effects.watch(occurrence.session_key)
        return
    error = occurrence.run_error if end != "done" else None
    values = {"status": end, "ended_at": effects.now, "error": error}
    occurrences.update(effects.unit, occurrence, **values)
    if not (job.plan.post and job.plan.options.direct and end in {"done", "failed"}):
        return
    answer = _answer(effects.unit, occurrence)
    text = "" if answer is None else answer.text
    if silent(text) or (end == "failed" and job.state == "system"):
        return
    label = job.plan.spoken
    if answer is not None:
        label = label.join(labels.read(answer.label, tainted=answer.tainted))
    effects.post(job, occurrence.scheduled_at, text, label)


def _answer(connection: Connection, occurrence: Occurrence) -> OutboundMessage | None:
    """The answer of a run in the job's own session."""
    if occurrence.run_id is None:
        return None
    query = sa.select(_out.c.body).where(_out.c.key == keys.answer(occurrence.run_id))
    body = connection.scalar(query)
    return None if body is None else msgspec.json.decode(body, type=OutboundMessage)
